//! Certificates for tests.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
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

    /// A certificate for 127.0.0.1 and `localhost`, for a server or a client.
    pub fn identity(&self) -> Identity {
        self.identity_for(&["127.0.0.1", "localhost"])
    }

    /// A certificate for these names or addresses.
    pub fn identity_for(&self, names: &[&str]) -> Identity {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("no key");
        let certificate = params.signed_by(&key, &self.issuer).expect("no certificate");
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}
