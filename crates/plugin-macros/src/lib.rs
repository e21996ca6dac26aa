//! The attributes of the plugin SDK: a function stays what it is, and a module of its name beside it makes the item.
//!
//! This crate refuses to know what an item does; it only writes down what the function's signature says.

mod attribute;
mod function;

use proc_macro::TokenStream;
use quote::quote;
use syn::parse_macro_input;

use attribute::Attribute;
use function::Function;

/// Makes a function a tool.
///
/// Its documentation becomes the description, its parameters the schema: documentation of a parameter, and attributes
/// of serde and schemars, count as they would on a field. A parameter of type `&Context` is the call itself. Takes
/// `name = ".."`, `title = ".."`, `read_only`, `destructive`, `idempotent`, `open_world`.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let attribute = parse_macro_input!(attribute as Attribute);
    let function = parse_macro_input!(item as Function);
    let (named, note) = (attribute.named(&function), attribute.note());
    let call = function.call();
    let item = quote! {
        ::switchboard_plugin_sdk::Item::tool(#named, #note, #call)
    };
    function.with_item(&item, attribute.completer()).into()
}

/// Makes a function a prompt.
///
/// Takes `name = ".."`, `title = ".."`, and `complete = function`, where the function gets the argument's name, what
/// is typed of it, and the context, and returns what it could become.
#[proc_macro_attribute]
pub fn prompt(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let attribute = parse_macro_input!(attribute as Attribute);
    let function = parse_macro_input!(item as Function);
    let named = attribute.named(&function);
    let call = function.call();
    let item = quote! { ::switchboard_plugin_sdk::Item::prompt(#named, #call) };
    function.with_item(&item, attribute.completer()).into()
}

/// Makes a function a resource.
///
/// Takes `uri = ".."`, `mime = ".."`, `name = ".."`, `title = ".."`.
#[proc_macro_attribute]
pub fn resource(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let attribute = parse_macro_input!(attribute as Attribute);
    let function = parse_macro_input!(item as Function);
    let call = function.call_without_arguments();
    placed(&attribute, &function, &quote!(::switchboard_plugin_sdk::Item::resource), &call)
}

/// Makes a function a template of resources; the names in braces are its parameters.
///
/// Takes `uri = "notes://{id}"`, `mime = ".."`, `name = ".."`, `title = ".."`, `complete = function`.
#[proc_macro_attribute]
pub fn template(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let attribute = parse_macro_input!(attribute as Attribute);
    let function = parse_macro_input!(item as Function);
    let call = function.call();
    placed(&attribute, &function, &quote!(::switchboard_plugin_sdk::Item::template), &call)
}

/// An item that has an address.
fn placed(
    attribute: &Attribute,
    function: &Function,
    kind: &proc_macro2::TokenStream,
    call: &proc_macro2::TokenStream,
) -> TokenStream {
    let place = match attribute.place(function) {
        Ok(place) => place,
        Err(error) => return error.into_compile_error().into(),
    };
    let named = attribute.named(function);
    function.with_item(&quote!(#kind(#named, #place, #call)), attribute.completer()).into()
}
