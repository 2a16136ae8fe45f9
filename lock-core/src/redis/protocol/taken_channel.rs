/// The channel on which a client learns that one of its locks was taken away, on either wire. Its name is
/// one that the rights to request a release allow.
pub(crate) fn taken_channel(prefix: &str, client: &str) -> String {
    format!("lock_asked:{{{prefix}}}:{client}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own() {
        assert_eq!(taken_channel("lock:", "c"), "lock_asked:{lock:}:c");
    }
}
