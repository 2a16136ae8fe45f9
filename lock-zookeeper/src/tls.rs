//! TLS of sessions, by the client library's rustls.

use lock_store::{ConnectError, InvalidOptions, Tls};
use tokio_rustls::rustls::crypto::ring;
use zookeeper_client::{Error, TlsOptions};

/// # Errors
///
/// No authority is given, or one of the texts is not PEM.
pub(super) fn options(tls: &Tls) -> Result<TlsOptions, ConnectError> {
    let (authorities, identity) = tls.pem();
    if authorities.is_empty() {
        let why = "zookeepers:// needs the ensemble's certificate authority: Tls::authority";
        return Err(InvalidOptions::new(why.to_owned()).into());
    }
    // The library takes the process' default provider, and panics where a program has been built with
    // two of them and has chosen none.
    let _ = ring::default_provider().install_default();
    let refuse = |why: Error| InvalidOptions::new(format!("the TLS options cannot be used: {why}"));
    let all = authorities.concat();
    let mut options = TlsOptions::default().with_pem_ca(&text(&all)?).map_err(refuse)?;
    if let Some((certificates, key)) = identity {
        let (certificates, key) = (text(certificates)?, text(key)?);
        options = options.with_pem_identity(&certificates, &key).map_err(refuse)?;
    }
    Ok(options)
}

fn text(pem: &[u8]) -> Result<String, InvalidOptions> {
    let text = String::from_utf8(pem.to_vec());
    text.map_err(|_| {
        InvalidOptions::new("a certificate or key is not PEM: it is not text".to_owned())
    })
}
