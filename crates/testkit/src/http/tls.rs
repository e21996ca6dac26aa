//! Certificates made on the spot.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair,
};
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

/// A certificate authority nobody has heard of.
pub struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// Whether a server demands a certificate of its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// It does not ask.
    NotAsked,
    /// It accepts only those that the same authority issued.
    Required,
}

impl Authority {
    /// A new one, with a key of its own.
    pub fn new() -> Self {
        let mut params = named("scripted authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// Its certificate, to be trusted.
    pub fn ca_pem(&self) -> Vec<u8> {
        self.certificate.pem().into_bytes()
    }

    /// A client's certificate and key in one PEM text.
    pub fn client_pem(&self) -> Vec<u8> {
        let mut params = named("scripted client");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem() + &key.serialize_pem()).into_bytes()
    }

    /// The certificate and key of a server for `localhost` and `127.0.0.1`, in one PEM text.
    pub fn server_pem(&self) -> Vec<u8> {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let params = CertificateParams::new(names).expect("valid names");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem() + &key.serialize_pem()).into_bytes()
    }

    /// A server for `localhost` and `127.0.0.1` that offers the protocols in `alpn`.
    pub fn server(&self, clients: ClientCertificate, alpn: &[&str]) -> rustls::ServerConfig {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let params = CertificateParams::new(names).expect("valid names");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let chain = vec![certificate.der().clone()];
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
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

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params
}
