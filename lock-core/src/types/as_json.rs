//! How the parts of an [`Inspection`](super::Inspection) serialize.

// The signatures are those that serde requires.
#![allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref)]

use std::time::Duration;

use lock_store::{ClientInfo, FencingToken, Kind, Mode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A client that is not known has both fields too.
#[derive(Serialize)]
struct ClientNames<'a> {
    service: Option<&'a str>,
    instance: Option<&'a str>,
}

pub(super) fn client<S: Serializer>(client: &Option<ClientInfo>, to: S) -> Result<S::Ok, S::Error> {
    let client = client.as_ref();
    let service = client.map(|client| client.service.as_str());
    ClientNames { service, instance: client.map(|client| client.instance.as_str()) }.serialize(to)
}

pub(super) fn millis<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)).serialize(to)
}

pub(super) fn duration<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    millis(&Some(*time), to)
}

pub(super) fn kind<S: Serializer>(kind: &Option<Kind>, to: S) -> Result<S::Ok, S::Error> {
    kind.map(Kind::as_str).serialize(to)
}

pub(super) fn mode<S: Serializer>(mode: &Mode, to: S) -> Result<S::Ok, S::Error> {
    mode.as_str().serialize(to)
}

pub(super) fn optional_mode<S: Serializer>(mode: &Option<Mode>, to: S) -> Result<S::Ok, S::Error> {
    mode.map(Mode::as_str).serialize(to)
}

pub(super) fn token<S: Serializer>(token: &Option<FencingToken>, to: S) -> Result<S::Ok, S::Error> {
    token.map(FencingToken::get).serialize(to)
}

pub(super) fn from_millis<'a, D: Deserializer<'a>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_millis)
}
