//! The TLS configuration of HTTP and WebSocket clients.
//!
//! Used by `pool`; built by `core::connection::tls` from settings. The TLS of faces is in
//! `gateway::face::tls`.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

use super::error::{HttpError, Source};

/// Trusted certificate authorities, and the client's certificate.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// Certificate authorities to trust besides the platform's, each one or more PEM certificates.
    pub extra_ca_pem: Vec<Vec<u8>>,
    /// The client certificate, for servers that ask for one.
    pub client_identity: Option<TlsClientIdentity>,
    /// Whether the platform's certificate authorities are trusted (the default).
    pub platform_roots: bool,
}

/// A certificate chain and its private key, in one PEM text. `Debug` shows neither.
#[derive(Clone)]
pub struct TlsClientIdentity(Arc<[u8]>);

// === impl TlsClientIdentity ===

impl TlsClientIdentity {
    /// Reads PEM text that holds the chain (leaf first) and the private key, in any order.
    pub fn from_pem(pem: impl Into<Vec<u8>>) -> Self {
        Self(pem.into().into())
    }
}

impl fmt::Debug for TlsClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientIdentity(..)")
    }
}

// === impl TlsOptions ===

impl Default for TlsOptions {
    fn default() -> Self {
        Self { extra_ca_pem: Vec::new(), client_identity: None, platform_roots: true }
    }
}

impl TlsOptions {
    /// The `rustls` configuration, without ALPN, which differs between HTTP and WebSocket.
    pub(super) fn config(&self) -> Result<ClientConfig, HttpError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| setup("TLS", error))?;
        let builder = self.trust(builder, provider)?;
        let Some(TlsClientIdentity(pem)) = &self.client_identity else {
            return Ok(builder.with_no_client_auth());
        };
        let chain = certificates(pem).map_err(|error| setup("the client certificate", error))?;
        let key = PrivateKeyDer::from_pem_slice(pem)
            .map_err(|error| setup("the key of the client certificate", error))?;
        builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| setup("the client certificate", error))
    }

    fn trust(
        &self,
        builder: ConfigBuilder<ClientConfig, WantsVerifier>,
        provider: Arc<CryptoProvider>,
    ) -> Result<ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>, HttpError> {
        let extra = self.extra_roots()?;
        if self.platform_roots
            && let Some(verifier) = platform_verifier(&extra, provider)
        {
            let builder = builder.dangerous(); // a custom verifier, which is the platform's own
            return Ok(builder.with_custom_certificate_verifier(verifier));
        }
        let mut roots = RootCertStore::empty();
        for certificate in extra {
            roots.add(certificate).map_err(|error| setup("an extra CA certificate", error))?;
        }
        Ok(builder.with_root_certificates(roots))
    }

    fn extra_roots(&self) -> Result<Vec<CertificateDer<'static>>, HttpError> {
        let mut roots = Vec::new();
        for pem in &self.extra_ca_pem {
            let found =
                certificates(pem).map_err(|error| setup("an extra CA certificate", error))?;
            roots.extend(found);
        }
        Ok(roots)
    }
}

/// The platform's verifier; `None` on a system without certificates (a bare container). Plain HTTP
/// must still work there, and TLS then fails with a clear reason.
fn platform_verifier(
    extra: &[CertificateDer<'static>],
    provider: Arc<CryptoProvider>,
) -> Option<Arc<dyn ServerCertVerifier>> {
    let extra = extra.iter().cloned();
    match rustls_platform_verifier::Verifier::new_with_extra_roots(extra, provider) {
        Ok(verifier) => Some(Arc::new(verifier)),
        Err(error) => {
            tracing::warn!(%error, "the platform's certificates cannot be used");
            None
        }
    }
}

/// All certificates in a PEM text. None is an error: the file was probably given by mistake.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Source> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>()?;
    if found.is_empty() {
        return Err("no certificate in the PEM text".into());
    }
    Ok(found)
}

fn setup(what: &'static str, source: impl Into<Source>) -> HttpError {
    HttpError::Setup { what, source: source.into() }
}
