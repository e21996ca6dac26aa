//! A certificate authority for tests, with server and client certificates.
//!
//! Used by tests of TLS in `wire` and `gateway`, and by the scripted servers.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyIdMethod, SerialNumber,
};
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

use super::key::Key;

/// A certificate authority that no platform trusts.
pub struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, Key>,
}

/// Whether a server demands a client certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// No client certificate is requested.
    NotAsked,
    /// Only certificates of this authority are accepted.
    Required,
}

impl Authority {
    /// A new authority with its own key.
    pub fn new() -> Self {
        let key = Key::generate();
        let mut params = named(&key, "scripted authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate");
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// The authority's certificate, to be trusted.
    pub fn ca_pem(&self) -> Vec<u8> {
        self.certificate.pem().into_bytes()
    }

    /// A client's certificate and key in one PEM text.
    pub fn client_pem(&self) -> Vec<u8> {
        let key = Key::generate();
        let mut params = named(&key, "scripted client");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem() + &key.pem()).into_bytes()
    }

    /// The certificate and key of a server for `localhost` and `127.0.0.1`, in one PEM text.
    pub fn server_pem(&self) -> Vec<u8> {
        let key = Key::generate();
        let params = here(&key);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem() + &key.pem()).into_bytes()
    }

    /// A server for `localhost` and `127.0.0.1` that offers the protocols in `alpn`.
    pub fn server(&self, clients: ClientCertificate, alpn: &[&str]) -> rustls::ServerConfig {
        let key = Key::generate();
        let params = here(&key);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let chain = vec![certificate.der().clone()];
        let key = PrivateKeyDer::try_from(key.der().to_vec()).expect("a key");
        let mut config = self.builder(clients).with_single_cert(chain, key).expect("they match");
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        config
    }

    fn builder(
        &self,
        clients: ClientCertificate,
    ) -> rustls::ConfigBuilder<rustls::ServerConfig, rustls::server::WantsServerCert> {
        let provider = Arc::new(ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("usual versions");
        if clients == ClientCertificate::NotAsked {
            return builder.with_no_client_auth();
        }
        let mut roots = RootCertStore::empty();
        let ca: CertificateDer<'static> = self.certificate.der().clone();
        roots.add(ca).expect("our own certificate");
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
            .build()
            .expect("a verifier");
        builder.with_client_cert_verifier(verifier)
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

fn named(key: &Key, name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    of(key, params)
}

/// The parameters of a server certificate for this machine.
fn here(key: &Key) -> CertificateParams {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    of(key, CertificateParams::new(names).expect("valid names"))
}

/// Names the certificate after its key, which is all that distinguishes it.
fn of(key: &Key, mut params: CertificateParams) -> CertificateParams {
    params.serial_number = Some(SerialNumber::from_slice(&key.id()));
    params.key_identifier_method = KeyIdMethod::PreSpecified(key.id());
    params
}
