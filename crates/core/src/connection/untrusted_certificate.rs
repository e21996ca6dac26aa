//! Recognises in a program's standard error that it did not trust a certificate.
//!
//! Used by the advice about a server that ended before it answered: behind a company's proxy a download by `npx` or
//! `uvx` fails like this. It decides nothing about connections.

/// What programs write when they do not trust a certificate, and the variables that name further certificates for
/// them.
const REPORTS: [(&str, &[&str]); 10] = [
    // Node.js, and with it npm.
    ("SELF_SIGNED_CERT_IN_CHAIN", &["NODE_EXTRA_CA_CERTS"]),
    ("DEPTH_ZERO_SELF_SIGNED_CERT", &["NODE_EXTRA_CA_CERTS"]),
    ("UNABLE_TO_GET_ISSUER_CERT", &["NODE_EXTRA_CA_CERTS"]),
    ("UNABLE_TO_VERIFY_LEAF_SIGNATURE", &["NODE_EXTRA_CA_CERTS"]),
    ("CERT_UNTRUSTED", &["NODE_EXTRA_CA_CERTS"]),
    // Programs on rustls, such as uv.
    ("invalid peer certificate", &["SSL_CERT_FILE"]),
    // Python: its own library reads the one, `requests` and pip the other.
    ("CERTIFICATE_VERIFY_FAILED", &["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"]),
    ("SSL certificate problem", &["CURL_CA_BUNDLE"]),
    // Go and OpenSSL.
    ("certificate signed by unknown authority", &["SSL_CERT_FILE"]),
    ("unable to get local issuer certificate", &["SSL_CERT_FILE"]),
];

/// Returns the variables that name further certificates for a program, if it wrote that it did not trust one.
pub fn certificate_variables(stderr: &str) -> Option<&'static [&'static str]> {
    REPORTS.iter().find(|(report, _)| stderr.contains(report)).map(|(_, variables)| *variables)
}

#[cfg(test)]
mod tests {
    use super::certificate_variables;

    #[test]
    fn certificates_are_told_from_other_troubles() {
        let npm = "npm error code UNABLE_TO_GET_ISSUER_CERT_LOCALLY\nnpm error errno";
        assert_eq!(certificate_variables(npm), Some(&["NODE_EXTRA_CA_CERTS"][..]));
        let uv = "error sending request\n  Caused by: invalid peer certificate: UnknownIssuer";
        assert_eq!(certificate_variables(uv), Some(&["SSL_CERT_FILE"][..]));
        assert_eq!(certificate_variables("npm error code ECONNREFUSED"), None);
    }
}
