//! The attributes of the plugin SDK: a function stays unchanged, and a module with its name beside it makes
//! the item.
//!
//! Used by plugin authors through `switchboard_plugin_sdk`, which re-exports them. It does not know what an
//! item does: it only translates the function's signature.

mod attribute;
mod function;

use proc_macro::TokenStream;
use quote::quote;
use syn::parse_macro_input;

use attribute::Attribute;
use function::Function;

/// Makes a function a tool.
///
/// Its documentation becomes the description, its parameters the schema: documentation of a parameter, and
/// attributes of serde and schemars, count as they would on a field. A parameter of type `&Context` receives
/// the call's context. Takes `name = ".."`, `title = ".."`, `read_only`, `destructive`, `idempotent`,
/// `open_world`.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let attribute = parse_macro_input!(attribute as Attribute);
    let function = parse_macro_input!(item as Function);
    let (named, note) = (attribute.item_info(&function), attribute.note());
    let call = function.call();
    let item = quote! {
        ::switchboard_plugin_sdk::Item::tool(#named, #note, #call)
    };
    function.with_item(&item, attribute.completer()).into()
}

/// Makes a function a prompt.
///
/// Takes `name = ".."`, `title = ".."`, and `complete = function`: that function gets the argument's name,
/// the text typed so far, and the context, and returns the possible values.
#[proc_macro_attribute]
pub fn prompt(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let attribute = parse_macro_input!(attribute as Attribute);
    let function = parse_macro_input!(item as Function);
    let named = attribute.item_info(&function);
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

/// Makes a function a resource template; the names in braces are its parameters.
///
/// Takes `uri = "notes://{id}"`, `mime = ".."`, `name = ".."`, `title = ".."`, `complete = function`.
#[proc_macro_attribute]
pub fn template(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let attribute = parse_macro_input!(attribute as Attribute);
    let function = parse_macro_input!(item as Function);
    let call = function.call();
    placed(&attribute, &function, &quote!(::switchboard_plugin_sdk::Item::template), &call)
}

/// Generates an item that has a URI.
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
    let named = attribute.item_info(function);
    function.with_item(&quote!(#kind(#named, #place, #call)), attribute.completer()).into()
}
