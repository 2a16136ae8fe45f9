use lock_tests::{LIMIT, eventually, http};

use super::replicas::Replicas;

#[tokio::test]
async fn hot_keys_of_two_replicas_are_added_up() {
    let replicas = Replicas::start().await;
    let [first, second] = replicas.clients() else { panic!("two replicas") };
    let held = first.write("report:daily").acquire().await.unwrap();
    for (client, times) in [(first, 2), (second, 3)] {
        for _ in 0..times {
            assert!(client.write("report:daily").try_acquire().await.is_err());
        }
    }
    // The other replica is known by what it holds.
    let _other = second.write("other").acquire().await.unwrap();
    // What the second has counted after it wrote its counts down follows ten seconds later.
    let added_up = async || {
        let list = http::get(&replicas.first.url("/locks?format=json")).await.json();
        let hottest = &list["hot_keys"][0];
        let contended = hottest["contended"].as_u64().unwrap();
        assert!(hottest["key"] == "report:daily" && (2..=5).contains(&contended), "{list}");
        contended > 2
    };
    eventually("those of both", LIMIT, added_up).await;
    held.release().await.unwrap();
}
