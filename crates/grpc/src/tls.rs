//! Encryption of connections.

use std::fmt::Display;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// The protocol that clients agree on, before HTTP/2 begins (RFC 9113, section 3.2).
const HTTP2: &[u8] = b"h2";

/// Encryption, with keys and certificates as PEM.
#[derive(Clone, Debug)]
pub struct Tls {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
    /// Clients need a certificate of this authority.
    pub client_authority: Option<Vec<u8>>,
}

/// Begins encrypted connections. Fails, with the reason, if keys or certificates cannot be used.
pub(crate) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
    let builder = match &tls.client_authority {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates(authority)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            builder.with_client_cert_verifier(verifier.build().map_err(unusable)?)
        }
    };
    let key = PrivateKeyDer::from_pem_slice(&tls.key).map_err(unusable)?;
    let mut config = builder.with_single_cert(certificates(&tls.certificate)?, key).map_err(unusable)?;
    config.alpn_protocols.push(HTTP2.to_vec());
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(unusable)
}

fn unusable(error: impl Display) -> String {
    error.to_string()
}
