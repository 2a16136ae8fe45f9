//! Connections under TLS.

#[cfg(not(feature = "tls"))]
pub(crate) use without::*;

#[cfg(not(feature = "tls"))]
mod without {
    use std::error::Error as StdError;

    use lock_store::{ConnectError, Tls};

    /// Without the feature `tls` there is no configuration.
    #[derive(Debug, Clone)]
    pub(crate) enum Connector {}

    impl Connector {
        pub(crate) fn new(_: &Tls) -> Result<Self, ConnectError> {
            Err(ConnectError::MissingFeature { feature: "tls" })
        }
    }

    pub(crate) fn explain(_: &(dyn StdError + 'static)) -> Option<String> {
        None
    }
}

#[cfg(feature = "tls")]
pub(crate) use with::*;

#[cfg(feature = "tls")]
mod with {
    use std::{error::Error as StdError, fmt, io, sync::Arc};

    use tokio::net::TcpStream;
    use tokio_rustls::{
        TlsConnector,
        client::TlsStream,
        rustls::{
            self, AlertDescription, CertificateError, ClientConfig, Error, RootCertStore,
            crypto::ring,
            pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
        },
    };

    use lock_store::{ConnectError, InvalidOptions, Tls};

    #[derive(Clone)]
    pub(crate) struct Connector(TlsConnector);

    impl fmt::Debug for Connector {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("TLS")
        }
    }

    impl Connector {
        pub(crate) fn new(tls: &Tls) -> Result<Self, ConnectError> {
            let (given, identity) = tls.pem();
            // Named explicitly: a program with two providers has no default one, and would panic.
            let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|error| bad(format!("no TLS version can be used: {error}")))?
                .with_root_certificates(authorities(given)?);
            let config = match identity {
                None => config.with_no_client_auth(),
                Some((certificates, key)) => {
                    let what = "the client certificate";
                    let key = PrivateKeyDer::from_pem_slice(key)
                        .map_err(|error| bad(format!("{what}'s key is not a PEM key: {error}")))?;
                    config
                        .with_client_auth_cert(read(certificates, what)?, key)
                        .map_err(|error| bad(format!("{what} cannot be used: {error}")))?
                }
            };
            Ok(Self(TlsConnector::from(Arc::new(config))))
        }

        pub(crate) async fn wrap(
            &self,
            host: &str,
            stream: TcpStream,
        ) -> io::Result<TlsStream<TcpStream>> {
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            self.0.connect(name, stream).await
        }
    }

    fn authorities(given: &[Vec<u8>]) -> Result<RootCertStore, ConnectError> {
        let mut roots = RootCertStore::empty();
        if given.is_empty() {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(bad(
                    "this system has no certificate authorities: install them (Debian: \
                     ca-certificates), or give the one of your Redis with Tls::authority"
                        .to_owned(),
                ));
            }
        }
        for pem in given {
            let what = "the certificate authority";
            for certificate in read(pem, what)? {
                roots
                    .add(certificate)
                    .map_err(|error| bad(format!("{what} cannot be used: {error}")))?;
            }
        }
        Ok(roots)
    }

    fn read(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match read {
            Ok(certificates) if certificates.is_empty() => {
                Err(bad(format!("{what} holds no PEM certificate")))
            }
            Ok(certificates) => Ok(certificates),
            Err(error) => Err(bad(format!("{what} is not PEM: {error}"))),
        }
    }

    fn bad(why: String) -> ConnectError {
        InvalidOptions::new(why).into()
    }

    /// The meaning of an error, if it is a TLS error.
    pub(crate) fn explain(error: &(dyn StdError + 'static)) -> Option<String> {
        let mut error = Some(error);
        while let Some(this) = error {
            if let Some(tls) = this.downcast_ref::<rustls::Error>() {
                return Some(meaning(tls));
            }
            error = if let Some(io) = this.downcast_ref::<io::Error>() {
                io.get_ref().map(|inner| inner as &(dyn StdError + 'static))
            } else if let Some(shared) = this.downcast_ref::<Arc<dyn StdError + Send + Sync>>() {
                Some(&**shared)
            } else {
                this.source()
            };
        }
        None
    }

    fn meaning(error: &Error) -> String {
        use AlertDescription as Alert;
        match error {
            // Signed by another authority of the same name.
            Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::BadSignature,
            ) => "its certificate is signed by an authority that is not trusted here: give its \
                 certificate with Tls::authority"
                .to_owned(),
            Error::InvalidCertificate(why) => of_certificate(why),
            Error::AlertReceived(Alert::CertificateRequired | Alert::HandshakeFailure) => {
                format!("it requires a client certificate: give one with Tls::identity ({error})")
            }
            Error::AlertReceived(
                Alert::UnknownCA
                | Alert::BadCertificate
                | Alert::CertificateUnknown
                | Alert::CertificateExpired
                | Alert::CertificateRevoked
                | Alert::DecryptError
                | Alert::UnsupportedCertificate,
            ) => format!("it does not accept the client certificate: {error}"),
            Error::InvalidMessage(_) => {
                "it does not speak TLS at this port: use redis://, or its TLS port".to_owned()
            }
            other => other.to_string(),
        }
    }

    /// Describes the fault of the server's certificate, and how a right one is made.
    fn of_certificate(why: &CertificateError) -> String {
        use CertificateError as Wrong;
        const MAKE: &str = "make a certificate authority, which Tls::authority trusts, and with it a \
                            certificate for the server that has CA:FALSE and its names as subjectAltName";
        let text = why.to_string();
        match why {
            Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => format!(
                "its certificate was made for another name: {text}; connect by a name that it has, or put \
                 this one into its subjectAltName"
            ),
            Wrong::ExpiredContext { time, not_after } => format!(
                "its certificate expired {} days ago by this host's clock: give the server a new \
                 certificate",
                time.as_secs().saturating_sub(not_after.as_secs()) / DAY
            ),
            Wrong::NotValidYetContext { time, not_before } => format!(
                "its certificate is valid only in {} days by this host's clock: set the clock, or give the \
                 server a new certificate",
                not_before.as_secs().saturating_sub(time.as_secs()).div_ceil(DAY)
            ),
            // The library has these as other errors.
            _ if text.contains("CaUsedAsEndEntity") => format!(
                "its certificate is for an authority, as `openssl req -x509` makes it, not for a \
                 server: {MAKE}"
            ),
            _ if text.contains("UnsupportedCertVersion") => format!(
                "its certificate is of X.509 version 1, as `openssl x509 -req` makes it without \
                 extensions: {MAKE}"
            ),
            _ => format!("its certificate cannot be used: {text}; {MAKE}"),
        }
    }

    const DAY: u64 = 24 * 60 * 60;
}
