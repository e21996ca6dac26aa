//! The TLS certificate of the faces.
//!
//! Used by `face::serve` and checked by `hub::access` at start. The TLS of clients is in
//! `wire::http::tls`.

use std::{fmt, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio_rustls::TlsAcceptor;

use super::FaceError;

/// A certificate chain and its private key. `Debug` shows neither.
#[derive(Clone)]
pub struct TlsIdentity {
    chain: Vec<u8>,
    key: Vec<u8>,
}

// === impl TlsIdentity ===

impl TlsIdentity {
    /// Takes PEM texts: the chain (leaf first) and the private key. One text may hold both.
    pub fn from_pem(chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self { chain: chain.into(), key: key.into() }
    }

    /// Checks that the certificate can be used, before a face is served with it.
    pub fn check(&self) -> Result<(), FaceError> {
        self.acceptor().map(drop)
    }

    pub(super) fn acceptor(&self) -> Result<TlsAcceptor, FaceError> {
        let chain: Vec<_> =
            CertificateDer::pem_slice_iter(&self.chain)
                .collect::<Result<_, _>>()
                .map_err(|error| FaceError::tls("the certificate cannot be read", error))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| FaceError::tls("the certificate's key cannot be read", error))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| FaceError::tls("TLS cannot be set up", error))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| FaceError::tls("the certificate and its key do not fit", error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsIdentity(..)")
    }
}
