//! Certificates for tests.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use std::fmt;
use std::sync::Arc;

/// A certificate authority that only this test trusts.
#[derive(Clone)]
pub struct Authority {
    issuer: Arc<CertifiedIssuer<'static, KeyPair>>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// A certificate and its key, as PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    certificate: String,
    key: String,
}

impl Identity {
    /// A certificate and its key that were made elsewhere, as PEM.
    pub fn new(certificate: impl Into<String>, key: impl Into<String>) -> Self {
        Self { certificate: certificate.into(), key: key.into() }
    }

    /// The certificate as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Its private key as PEM.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    /// Creates an authority with its own key.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "lock-tests authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("no key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("no certificate");
        Self { issuer: Arc::new(issuer) }
    }

    /// The authority's certificate as PEM, for clients and servers that trust it.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// The authority's own certificate, as `openssl req -x509` makes one: not for servers.
    pub fn own_identity(&self) -> Identity {
        Identity::new(self.issuer.pem(), self.issuer.key().serialize_pem())
    }

    /// A certificate for 127.0.0.1 that was valid until the year 2001.
    pub fn expired_identity(&self) -> Identity {
        self.signed(&["127.0.0.1"], |params| {
            (params.not_before, params.not_after) =
                (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1));
        })
    }

    /// A certificate for 127.0.0.1 and `localhost`, for a server or a client.
    pub fn identity(&self) -> Identity {
        self.identity_for(&["127.0.0.1", "localhost"])
    }

    /// A certificate for these names or addresses.
    pub fn identity_for(&self, names: &[&str]) -> Identity {
        self.signed(names, |_| ())
    }

    fn signed(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        let key = KeyPair::generate().expect("no key");
        let certificate = params.signed_by(&key, &self.issuer).expect("no certificate");
        Identity::new(certificate.pem(), key.serialize_pem())
    }
}
