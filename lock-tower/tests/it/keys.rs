//! Where keys come from, and what is answered when they do not.

use std::time::Duration;

use crate::common::{call, logs::Logs};
use axum::{
    Extension, Router,
    extract::Path,
    routing::{any, put},
};
use lock_tower::{
    KeyTemplateError, LockClient, LockKey, Locked, RequestLockLayer, RequestScopeLayer,
    distributed_lock,
    key::{KeyRejection, Template},
    settings::LockMode,
};

async fn key(lock: Locked) -> String {
    lock.view().unwrap().key().as_str().to_owned()
}

#[distributed_lock(key = "{shop}:order:{id:u64}", mode = "write")]
async fn key_of_attribute(Path((shop, id)): Path<(String, String)>, lock: Locked) -> String {
    lock.view().unwrap().key().as_str().to_owned()
}

const TEMPLATE: &str = "{shop}:order:{id:u64}";

#[tokio::test]
async fn layer_closure_and_attribute_build_the_same_key() {
    let locks = LockClient::in_memory();
    let template = Template::parse(TEMPLATE).unwrap();
    let by_uri = RequestLockLayer::with_key(locks.clone(), move |parts| {
        // The values as Axum decodes them.
        let values = [("north/1", "7"), ("a:b", "18446744073709551615")];
        let nth = usize::from(parts.uri.path().contains("a:b"));
        Ok(template.render(|placeholder| {
            let (shop, id) = values[nth];
            Ok::<_, KeyRejection>(if placeholder.name() == "shop" { shop } else { id }.into())
        })?)
    });
    let by_template = RequestLockLayer::new(locks.clone(), TEMPLATE).unwrap();
    let by_long_template =
        RequestLockLayer::new(locks.clone(), "{path.shop}:order:{path.id:u64}").unwrap();
    let app = Router::new()
        .route("/closure/{shop}/{id}", put(key).route_layer(by_uri))
        .route("/layer/{shop}/{id}", put(key).route_layer(by_template))
        .route("/long/{shop}/{id}", put(key).route_layer(by_long_template))
        .route("/attribute/{shop}/{id}", any(key_of_attribute))
        .layer(RequestScopeLayer::new(locks));

    for (values, expected) in [
        ("north%2F1/007", "north%2F1:order:7"),
        ("a:b/18446744073709551615", "a%3Ab:order:18446744073709551615"),
    ] {
        for way in ["closure", "layer", "long", "attribute"] {
            let answer = call(&app, "PUT", &format!("/{way}/{values}")).await;
            assert_eq!(answer.text, expected, "{way}");
        }
    }
}

/// The key is made from the handler's argument, so a number has one spelling without a type too.
#[tokio::test]
async fn an_attribute_locks_the_parsed_number() {
    #[distributed_lock(key = "order:{id}:{line.0}", mode = "write")]
    async fn number(Path((id, line)): Path<(u64, Line)>, lock: Locked) -> String {
        key(lock).await
    }
    #[derive(serde::Deserialize)]
    struct Line(i8);

    let app = Router::new()
        .route("/{id}/{line}", any(number))
        .layer(RequestScopeLayer::new(LockClient::in_memory()));
    for path in ["/7/-3", "/007/-03", "/+7/-3", "/%37/-%33"] {
        assert_eq!(call(&app, "PUT", path).await.text, "order:7:-3", "{path}");
    }
}

#[tokio::test]
async fn a_layer_warns_of_path_parameters_without_a_type() {
    for (template, named) in [
        ("order:{id}", Some("`{id}` is compared as text")),
        ("order:{path.tenant}:{id}:{id}", Some("`{path.tenant}`, `{id}` are compared as text")),
        ("order:{id|hash}", Some("`{id:text}`")),
        ("order:{id:u64}:{tenant:text}", None),
        ("order:{header.x}:{query.y}", None),
        ("orders", None),
    ] {
        let logs = Logs::collect();
        let _layer = RequestLockLayer::new(LockClient::in_memory(), template).unwrap();
        let lines = logs.lines();
        assert_eq!(lines.len(), usize::from(named.is_some()), "{lines:?}");
        if let Some(named) = named {
            assert!(lines[0].contains("WARN") && lines[0].contains(named), "{lines:?}");
            assert!(lines[0].contains(&format!("`{template}`")), "{lines:?}");
        }
    }
}

#[tokio::test]
async fn a_template_may_have_no_placeholders_and_a_wildcard() {
    let locks = LockClient::in_memory();
    let fixed = RequestLockLayer::new(locks.clone(), "all").unwrap();
    let wild = RequestLockLayer::new(locks, "file:{path}").unwrap();
    let app = Router::new()
        .route("/fixed", put(key).route_layer(fixed))
        .route("/files/{*path}", put(key).route_layer(wild));

    assert_eq!(call(&app, "PUT", "/fixed").await.text, "all");
    assert_eq!(call(&app, "PUT", "/files/a/b%20c").await.text, "file:a%2Fb%20c");
}

#[tokio::test]
async fn nested_routers_bring_all_their_parameters() {
    let layer = RequestLockLayer::new(LockClient::in_memory(), "{tenant}:{id}").unwrap();
    let inner = Router::new().route("/orders/{id}", any(key)).route_layer(layer.clone());
    let outside = Router::new().route("/orders/{id}", any(key));
    let app = Router::new()
        .nest("/in/{tenant}", inner)
        .merge(Router::new().nest("/out/{tenant}", outside).route_layer(layer));

    assert_eq!(call(&app, "PUT", "/in/a/orders/7").await.text, "a:7");
    assert_eq!(call(&app, "PUT", "/out/a/orders/7").await.text, "a:7");
}

#[tokio::test]
async fn a_closure_sees_extensions_and_may_give_a_checked_key() {
    #[derive(Clone)]
    struct Tenant(LockKey);
    let layer = RequestLockLayer::with_key(LockClient::in_memory(), |parts| {
        let tenant = parts.extensions.get::<Tenant>();
        tenant
            .map(|tenant| tenant.0.clone())
            .ok_or(KeyRejection::misconfigured("no tenant was set"))
    });
    let app = Router::new().route("/", any(key)).route_layer(layer);
    let tenant = Tenant(LockKey::try_from("tenant:a").unwrap());

    let logs = Logs::collect();
    let refused = call(&app, "PUT", "/").await;
    refused.assert_problem(500, "lock-misconfigured");
    assert_eq!(refused.text.contains("no tenant was set"), cfg!(debug_assertions));
    let lines = logs.lines();
    assert!(lines.iter().any(|line| line.contains("no tenant was set")), "{lines:?}");
    assert_eq!(call(&app.layer(Extension(tenant)), "PUT", "/").await.text, "tenant:a");
}

#[test]
fn a_template_that_is_none_is_refused_at_once() {
    let refused = |template| RequestLockLayer::new(LockClient::in_memory(), template).unwrap_err();

    let error = refused("order:{id");
    let KeyTemplateError::Template { error: ref why, .. } = error else { panic!("{error}") };
    assert_eq!(why.span(), 6..7, "{error}");
    assert!(error.to_string().contains("order:{id"), "{error}");

    for template in ["x:{body.tenant}", "x:{path.a.b}", "x:{a.b}"] {
        let error = refused(template);
        let KeyTemplateError::UnknownSource { span, placeholder, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(&template[span.clone()], placeholder);
        assert!(error.to_string().contains("RequestLockLayer::with_key"), "{error}");
    }
}

async fn assert_misconfigured(app: &Router, uri: &str, hints: &[&str]) {
    let logs = Logs::collect();
    let answer = call(app, "PUT", uri).await;
    let document = answer.assert_problem(500, "lock-misconfigured");
    assert_eq!(document["executed"], false);
    let lines = logs.lines();
    let [line] = &lines[..] else { panic!("one line: {lines:?}") };
    assert!(line.contains("ERROR"), "{line}");
    for hint in hints {
        assert!(line.contains(hint), "{hint} in {line}");
    }
}

fn order_lock() -> RequestLockLayer {
    RequestLockLayer::new(LockClient::in_memory(), "order:{id}").unwrap()
}

#[tokio::test]
async fn a_layer_outside_the_router_sees_no_parameters() {
    let routes = Router::new().route("/orders/{id}", any(|| async {}));
    let service = tower::Layer::layer(&order_lock(), routes);
    let app = Router::new().fallback_service(service);
    assert_misconfigured(&app, "/orders/7", &["order:{id}", "route_layer"]).await;
}

#[tokio::test]
async fn a_route_may_lack_the_parameter() {
    let app = Router::new().route("/orders/{order}", any(|| async {})).route_layer(order_lock());
    assert_misconfigured(&app, "/orders/7", &["`id`", "route_layer"]).await;
    let app = Router::new().route("/orders", any(|| async {})).route_layer(order_lock());
    assert_misconfigured(&app, "/orders", &["`id`", "route_layer"]).await;
}

#[tokio::test]
async fn a_parameter_twice_names_nothing() {
    let inner = Router::new().route("/lines/{id}", any(|| async {})).route_layer(order_lock());
    let app = Router::new().nest("/orders/{id}", inner);
    assert_misconfigured(&app, "/orders/7/lines/8", &["`id`", "twice"]).await;
}

#[tokio::test]
async fn a_layer_without_a_wait_has_the_clients() {
    let locks = LockClient::builder().wait(Duration::from_millis(1)).in_memory();
    let layer = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap().mode(LockMode::Write);
    let app = Router::new().route("/orders/{id}", any(|| async {})).route_layer(layer);
    let _guard = locks.write("order:7").acquire().await.unwrap();

    let problem = call(&app, "PUT", "/orders/7").await.assert_problem(423, "lock-busy");
    assert_eq!(problem["lock"], "order:{id}", "the name is the template unless set");
}
