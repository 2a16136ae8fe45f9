//! A headless Chromium for one test.

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::Command,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::Method;
use serde_json::{Value, json};

use crate::{LIMIT, Process, eventually, http as requests, python_packages::PythonPackages};

/// The checks of accessibility, in a package that has them as one file.
static AXE: PythonPackages =
    PythonPackages::new("axe/requirements.txt", "axe-playwright-python-0.1.8");

/// How long a browser may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A browser with a profile of its own and one window, driven by ChromeDriver
/// (<https://www.w3.org/TR/webdriver2/>). Ends on drop.
#[derive(Debug)]
pub struct Browser {
    driver: Process,
    port: u16,
    /// The URL of its session.
    session: String,
}

impl Browser {
    /// Starts the distribution's `chromedriver` and `chromium`.
    pub async fn start() -> Self {
        for (program, package) in [("chromium", "chromium"), ("chromedriver", "chromium-driver")] {
            let found = Command::new(program).arg("--version").output();
            assert!(
                found.is_ok(),
                "{program} not found. Install it: apt-get install {package} (Debian), \
                 dnf install {program} (Fedora), brew install {program} (macOS)"
            );
        }
        let driver = Process::builder("chromedriver").arg("--port=0").start();
        let started = driver.line("started successfully on port", LIMIT).await;
        let port = started.trim_end_matches('.').rsplit(' ').next().unwrap_or_default();
        let port = port.parse().unwrap_or_else(|why| panic!("no port in {started:?}: {why}"));
        // Tests run as root in containers, where its sandbox cannot be set up.
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--window-size=1100,760",
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
        } } });
        let mut browser = Self { driver, port, session: String::new() };
        let url = format!("http://127.0.0.1:{port}/session");
        let session = browser.send(Method::POST, &url, &wanted).await;
        let id = session["sessionId"].as_str().expect("a session has an id");
        browser.session = format!("{url}/{id}");
        browser
    }

    /// Opens a page, and waits until it is loaded.
    pub async fn open(&self, url: &str) {
        self.command(Method::POST, "url", &json!({ "url": url })).await;
    }

    /// Runs the body of a function in the page, and returns what it returns.
    pub async fn run(&self, script: &str) -> Value {
        let command = json!({ "script": script, "args": [] });
        self.command(Method::POST, "execute/sync", &command).await
    }

    /// Runs the body of a function until it returns `true`.
    pub async fn until(&self, what: &str, script: &str) {
        eventually(what, LIMIT, async || self.run(script).await == true).await;
    }

    /// Gives the window a size, and the theme that its user prefers. A narrow one is that of a telephone.
    pub async fn view(&self, width: u32, height: u32, theme: &str) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", &size).await;
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] });
        self.devtools("Emulation.setEmulatedMedia", &features).await;
    }

    /// Presses a key while the focused element has the focus.
    pub async fn press(&self, key: char) {
        let actions =
            json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        let actions = json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] });
        self.command(Method::POST, "actions", &actions).await;
    }

    /// Returns the rules of axe-core, of any severity, that the page breaks, each with its elements.
    pub async fn broken_rules(&self) -> Vec<String> {
        let axe = AXE.directory().await.join("axe_playwright_python/axe.min.js");
        self.run(&std::fs::read_to_string(axe).expect("axe-core is in the package")).await;
        let script = "const done = arguments[0]; \
            const rule = (of) => `${of.id}: ${of.nodes.map((node) => node.target).join()}`; \
            axe.run().then((found) => done(found.violations.map(rule)), (why) => done([`${why}`]));";
        let command = json!({ "script": script, "args": [] });
        let found = self.command(Method::POST, "execute/async", &command).await;
        serde_json::from_value(found).expect("a list of texts")
    }

    /// What the window shows, as a PNG.
    pub async fn screenshot(&self) -> Vec<u8> {
        let picture = self.command(Method::GET, "screenshot", &Value::Null).await;
        BASE64_STANDARD.decode(picture.as_str().expect("a text")).expect("base64")
    }

    async fn devtools(&self, command: &str, arguments: &Value) {
        let command = json!({ "cmd": command, "params": arguments });
        self.command(Method::POST, "goog/cdp/execute", &command).await;
    }

    async fn command(&self, method: Method, name: &str, arguments: &Value) -> Value {
        self.send(method, &format!("{}/{name}", self.session), arguments).await
    }

    async fn send(&self, method: Method, url: &str, arguments: &Value) -> Value {
        let body = if arguments.is_null() { String::new() } else { arguments.to_string() };
        let reply = requests::request(method, url, &body).await;
        let reply = reply.unwrap_or_else(|why| panic!("{url}: {why}\n{}", self.driver.output()));
        let value = reply.json()["value"].clone();
        assert_eq!(reply.status, 200, "{url} {body}: {value}");
        value
    }
}

impl Drop for Browser {
    /// A driver that is killed would leave its browser running.
    fn drop(&mut self) {
        let quit = || -> std::io::Result<()> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(b"GET /shutdown HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
            stream.read_to_end(&mut Vec::new())?;
            Ok(())
        };
        // If it does not answer, nothing better can be done.
        let _ = quit();
    }
}
