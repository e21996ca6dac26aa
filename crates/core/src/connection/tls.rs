//! TLS options of an entry: its client certificate, and the certificate authorities that it trusts.
//!
//! Used by `connection::target` and for the credentials of the entry. Entries without TLS options use the shared
//! pool.

use std::io;
use std::path::Path;

use switchboard_config::{RemoteTransport, TlsFiles};
use switchboard_wire::http::{HttpError, HttpPoolOptions, TlsClientIdentity};

/// Returns the HTTP options of an entry, based on `usual`. File names are relative to `folder`. Reads files: it may
/// block.
pub fn entry_pool_options(
    entry: &RemoteTransport,
    folder: &Path,
    usual: &HttpPoolOptions,
) -> Result<HttpPoolOptions, HttpError> {
    let Some(tls) = &entry.tls else { return Ok(usual.clone()) };
    let mut options = usual.tls.clone();
    if let Some(file) = &tls.ca_file {
        options.extra_ca_pem.push(read("the certificate authorities", folder, file)?);
    }
    if let Some(pem) = identity(tls, folder)? {
        options.client_identity = Some(TlsClientIdentity::from_pem(pem));
    }
    Ok(HttpPoolOptions { tls: options, ..usual.clone() })
}

fn identity(tls: &TlsFiles, folder: &Path) -> Result<Option<Vec<u8>>, HttpError> {
    let Some(cert) = &tls.cert_file else { return Ok(None) };
    let mut pem = read("the client certificate", folder, cert)?;
    if let Some(key) = &tls.key_file {
        pem.push(b'\n');
        pem.extend(read("the key of the client certificate", folder, key)?);
    }
    Ok(Some(pem))
}

fn read(what: &'static str, folder: &Path, file: &str) -> Result<Vec<u8>, HttpError> {
    let path = folder.join(file);
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    std::fs::read(&path).map_err(|error| HttpError::Setup { what, source: Box::new(named(error)) })
}
