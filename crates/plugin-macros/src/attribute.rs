//! The arguments of an attribute, for example `name = ".."` and `read_only`.
//!
//! Used by the attributes in the crate root.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Error, Ident, LitStr, Path, Token,
    parse::{Parse, ParseStream},
};

use crate::function::Function;

/// The parsed arguments of an attribute.
#[derive(Default)]
pub(crate) struct Attribute {
    name: Option<LitStr>,
    title: Option<LitStr>,
    uri: Option<LitStr>,
    mime: Option<LitStr>,
    complete: Option<Path>,
    flags: Vec<Ident>,
}

const FLAGS: [&str; 4] = ["read_only", "destructive", "idempotent", "open_world"];

// === impl Attribute ===

impl Parse for Attribute {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut attribute = Self::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            attribute.take(&key, input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(attribute)
    }
}

impl Attribute {
    fn take(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        let text = |input: ParseStream<'_>| -> syn::Result<Option<LitStr>> {
            input.parse::<Token![=]>()?;
            input.parse().map(Some)
        };
        match key.to_string().as_str() {
            "name" => self.name = text(input)?,
            "title" => self.title = text(input)?,
            "uri" => self.uri = text(input)?,
            "mime" => self.mime = text(input)?,
            "complete" => {
                input.parse::<Token![=]>()?;
                self.complete = Some(input.parse()?);
            }
            flag if FLAGS.contains(&flag) => self.flags.push(key.clone()),
            _ => {
                let known = "`name`, `title`, `uri`, `mime`, `complete`, `read_only`, `destructive`, `idempotent`, `open_world`";
                return Err(Error::new(key.span(), format!("expected one of {known}")));
            }
        }
        Ok(())
    }

    /// Generates the SDK's `ItemInfo`.
    pub(crate) fn item_info(&self, function: &Function) -> TokenStream {
        let name = match &self.name {
            Some(name) => name.clone(),
            None => LitStr::new(&function.name().to_string(), function.name().span()),
        };
        let title = match &self.title {
            Some(title) => quote!(::core::option::Option::Some(#title)),
            None => quote!(::core::option::Option::None),
        };
        let description = function.documentation();
        quote! {
            ::switchboard_plugin_sdk::ItemInfo { name: #name, title: #title, description: #description }
        }
    }

    /// Generates the SDK's `ToolHints`.
    pub(crate) fn note(&self) -> TokenStream {
        let flags = &self.flags;
        quote! {
            ::switchboard_plugin_sdk::ToolHints {
                #(#flags: true,)*
                ..::core::default::Default::default()
            }
        }
    }

    /// Generates the URI and the media type of a resource.
    pub(crate) fn place(&self, function: &Function) -> syn::Result<TokenStream> {
        let uri = self.uri.as_ref().ok_or_else(|| {
            Error::new(function.name().span(), "say where it is, with `uri = \"…\"`")
        })?;
        let mime = self.mime.as_ref().map_or_else(|| quote!("text/plain"), |mime| quote!(#mime));
        Ok(quote!((#uri, #mime)))
    }

    pub(crate) fn completer(&self) -> Option<&Path> {
        self.complete.as_ref()
    }
}
