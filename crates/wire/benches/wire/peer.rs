//! The contender rmcp: its message type, read and written as its transports do.

use bytes::Bytes;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcMessage, MetaObject, NumberOrString,
    ProgressToken, ServerJsonRpcMessage, ServerResult,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::inputs::{From, Input};

const ID: NumberOrString = NumberOrString::Number(977);

fn parsed<T: DeserializeOwned>(input: &Input) -> T {
    // Its line reader checks UTF-8 before it decodes.
    std::str::from_utf8(&input.bytes).expect("the input is UTF-8");
    serde_json::from_slice(&input.bytes).expect("the input is a message")
}

pub(crate) fn read(input: &Input) -> Bytes {
    let call = match input.from {
        From::Client => match parsed(input) {
            ClientJsonRpcMessage::Request(request) => {
                std::hint::black_box(&request.id);
                matches!(request.request, ClientRequest::CallToolRequest(_))
            }
            _ => false,
        },
        From::Server => {
            std::hint::black_box(parsed::<ServerJsonRpcMessage>(input));
            false
        }
    };
    if call { "1".into() } else { "0".into() }
}

pub(crate) fn forward(input: &Input) -> Bytes {
    match input.from {
        From::Client => emit(&renamed(parsed::<ClientJsonRpcMessage>(input))),
        From::Server => emit(&renamed(parsed::<ServerJsonRpcMessage>(input))),
    }
}

pub(crate) fn splice(input: &Input) -> Bytes {
    match input.from {
        From::Client => {
            let mut message = renamed(parsed::<ClientJsonRpcMessage>(input));
            change_call(&mut message);
            emit(&message)
        }
        From::Server => {
            let mut message = renamed(parsed::<ServerJsonRpcMessage>(input));
            change_result(&mut message);
            emit(&message)
        }
    }
}

fn renamed<Q, R, N>(mut message: JsonRpcMessage<Q, R, N>) -> JsonRpcMessage<Q, R, N> {
    match &mut message {
        JsonRpcMessage::Request(request) => request.id = ID,
        JsonRpcMessage::Response(response) => response.id = ID,
        _ => panic!("neither a request nor a result"),
    }
    message
}

fn change_call(message: &mut ClientJsonRpcMessage) {
    let JsonRpcMessage::Request(request) = message else { panic!("not a request") };
    let ClientRequest::CallToolRequest(call) = &mut request.request else {
        panic!("not a call of a tool")
    };
    call.params.name = "forecast".into();
    request.request.get_meta_mut().set_progress_token(ProgressToken(NumberOrString::Number(99)));
}

fn change_result(message: &mut ServerJsonRpcMessage) {
    let JsonRpcMessage::Response(response) = message else { panic!("not a result") };
    let meta = match &mut response.result {
        ServerResult::CallToolResult(result) => &mut result.meta,
        ServerResult::ListToolsResult(result) => &mut result.meta,
        other => panic!("an unexpected result: {other:?}"),
    };
    meta.get_or_insert_with(MetaObject::new).set_traceparent("00-ab-01");
}

fn emit<T: Serialize>(message: &T) -> Bytes {
    serde_json::to_vec(message).expect("a message can be written").into()
}
