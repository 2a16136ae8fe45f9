//! TLS: the trusted authorities, and the client certificate.

use std::fmt;

/// The encryption of connections, for URLs that begin with `rediss`: given to
/// `LockClientBuilder::tls`.
///
/// Without it the certificate authorities of the operating system are trusted and no client
/// certificate is shown. The server's certificate and name are always verified.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use lock_core::{LockClient, Tls};
///
/// let tls = Tls::new()
///     .authority(std::fs::read("/etc/orders/ca.pem")?)
///     .identity(std::fs::read("/etc/orders/orders.pem")?, std::fs::read("/etc/orders/orders.key")?);
/// let locks = LockClient::builder().tls(tls).connect("rediss://redis.internal:6380/").await?;
/// # Ok(()) }
/// ```
#[must_use]
#[derive(Clone, Default)]
pub struct Tls {
    authorities: Vec<Vec<u8>>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("authorities", &self.authorities.len())
            .field("identity", &self.identity.is_some())
            .finish()
    }
}

impl Tls {
    /// Returns the default: the authorities of the operating system, and no client certificate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts the certificate authorities in this PEM text, instead of those of the operating
    /// system. May be called several times.
    pub fn authority(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.authorities.push(pem.into());
        self
    }

    /// Presents this certificate to servers that request one: the certificate with its chain, and
    /// its private key, both as PEM.
    pub fn identity(mut self, certificates: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.identity = Some((certificates.into(), key.into()));
        self
    }

    /// The authorities, and the certificates with their key.
    #[expect(clippy::type_complexity, reason = "as they were given")]
    #[doc(hidden)]
    #[must_use]
    pub fn pem(&self) -> (&[Vec<u8>], Option<(&[u8], &[u8])>) {
        let identity = self.identity.as_ref();
        (&self.authorities, identity.map(|(certificates, key)| (&**certificates, &**key)))
    }
}
