//! The annotated function: its parsed parameters, and the module generated beside it.
//!
//! Used by the attributes in the crate root. It does not know tools or prompts apart.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Error, Expr, FnArg, Ident, ItemFn, Lit, Meta, Pat, Path, Type,
    parse::{Parse, ParseStream},
};

/// A function with its parsed parameters.
pub(crate) struct Function {
    function: ItemFn,
    parameters: Vec<Parameter>,
}

enum Parameter {
    /// The `&Context`.
    Context,
    Argument(Argument),
}

struct Argument {
    /// Attributes of documentation, serde and schemars, which move to a field.
    attributes: Vec<Attribute>,
    name: Ident,
    kind: Box<Type>,
}

// === impl Function ===

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut function: ItemFn = input.parse()?;
        let parameters =
            function.sig.inputs.iter_mut().map(parameter).collect::<syn::Result<_>>()?;
        Ok(Self { function, parameters })
    }
}

impl Function {
    pub(crate) fn name(&self) -> &Ident {
        &self.function.sig.ident
    }

    /// The function's documentation as one text.
    pub(crate) fn documentation(&self) -> String {
        let lines = self.function.attrs.iter().filter_map(documentation);
        let lines: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
        lines.join("\n").trim().to_owned()
    }

    /// Generates a closure that takes all arguments as one value and calls the function.
    pub(crate) fn call(&self) -> TokenStream {
        let name = self.name();
        let given = self.parameters.iter().map(|parameter| match parameter {
            Parameter::Context => quote!(cx),
            Parameter::Argument(Argument { name, .. }) => quote!(arguments.#name),
        });
        quote! {
            |arguments: Arguments, cx: &::switchboard_plugin_sdk::Context| {
                let _ = (&arguments, cx);
                super::#name(#(#given),*)
            }
        }
    }

    /// Generates the closure for a function without arguments.
    pub(crate) fn call_without_arguments(&self) -> TokenStream {
        let name = self.name();
        let given = self.parameters.iter().map(|_| quote!(cx));
        quote! {
            |cx: &::switchboard_plugin_sdk::Context| {
                let _ = cx;
                super::#name(#(#given),*)
            }
        }
    }

    /// Generates the function unchanged, and beside it a module with its name that makes the item.
    pub(crate) fn with_item(&self, item: &TokenStream, completer: Option<&Path>) -> TokenStream {
        let Self { function, .. } = self;
        let (name, visibility) = (self.name(), &function.vis);
        let fields = self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Context => None,
            Parameter::Argument(Argument { attributes, name, kind }) => {
                Some(quote!(#(#attributes)* #name: #kind))
            }
        });
        let completion = completer.map(|path| quote!(.with_completer(#path)));
        quote! {
            #[allow(
                clippy::needless_pass_by_value,
                clippy::unnecessary_wraps,
                reason = "arguments come as values, and what is returned is for the client"
            )]
            #function

            #[doc(hidden)]
            #visibility mod #name {
                #[allow(unused_imports, reason = "types of parameters are looked up as beside the function")]
                use super::*;

                #[allow(dead_code, reason = "a resource takes no arguments")]
                #[derive(::switchboard_plugin_sdk::serde::Deserialize, ::switchboard_plugin_sdk::schemars::JsonSchema)]
                #[serde(crate = "::switchboard_plugin_sdk::serde", deny_unknown_fields)]
                #[schemars(crate = "::switchboard_plugin_sdk::schemars")]
                struct Arguments { #(#fields),* }

                /// The item that the function is.
                pub(super) fn item() -> ::switchboard_plugin_sdk::Item {
                    #item #completion
                }
            }
        }
    }
}

/// Parses a parameter and removes its attributes, which a function's parameter may not have.
fn parameter(input: &mut FnArg) -> syn::Result<Parameter> {
    let FnArg::Typed(typed) = input else {
        return Err(Error::new_spanned(input, "a function of a plugin has no `self`"));
    };
    if is_context(&typed.ty) {
        return Ok(Parameter::Context);
    }
    let Pat::Ident(pattern) = &*typed.pat else {
        return Err(Error::new_spanned(&typed.pat, "a parameter needs a name, which clients see"));
    };
    let name = pattern.ident.clone();
    let attributes = std::mem::take(&mut typed.attrs);
    Ok(Parameter::Argument(Argument { attributes, name, kind: typed.ty.clone() }))
}

fn is_context(kind: &Type) -> bool {
    let Type::Reference(reference) = kind else { return false };
    let Type::Path(path) = &*reference.elem else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Context")
}

fn documentation(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(literal) = &pair.value else { return None };
    match &literal.lit {
        Lit::Str(text) if attribute.path().is_ident("doc") => Some(text.value()),
        _ => None,
    }
}
