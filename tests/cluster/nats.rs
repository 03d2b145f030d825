//! A nats-server on a port and in a folder of its own, and a way to it that can stall.

use crate::service::Folder;
use async_nats::jetstream::kv::Store;
use async_nats::jetstream::{self, Context};
use futures_util::TryStreamExt as _;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A server that keeps all it takes, at once.
pub struct Nats {
    child: Option<Child>,
    port: u16,
    more: String,
    pub folder: Folder,
}

impl Nats {
    pub fn start(name: &str) -> Self {
        Self::with(name, "")
    }

    /// With further lines of configuration.
    pub fn with(name: &str, more: &str) -> Self {
        let folder = Folder::new(&format!("nats-{name}"));
        std::fs::create_dir_all(folder.path()).expect("a folder");
        let mut nats = Self { child: None, port: free_port(), more: more.to_owned(), folder };
        nats.start_again();
        nats
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// Does something to what lies there.
    pub fn within<T>(&self, what: impl AsyncFnOnce(Context) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let client = async_nats::connect(self.url()).await.expect("a connection");
            what(jetstream::new(client)).await
        })
    }

    /// Starts it with what it has kept.
    pub fn start_again(&mut self) {
        let server = std::env::var("NQUEENS_TEST_NATS_SERVER").expect("NQUEENS_TEST_NATS_SERVER names a nats-server");
        let file = self.folder.path().join("nats.conf");
        let more = self.more.replace("STORE", &format!("{:?}", self.store()));
        let jetstream = if more.contains("jetstream") {
            String::new()
        } else {
            format!("jetstream {{ store_dir: {:?}, sync_interval: always }}", self.store())
        };
        let text = format!("listen: \"127.0.0.1:{}\"\n{jetstream}\n{more}\n", self.port);
        std::fs::write(&file, text).expect("written");
        let log = std::fs::File::create(self.folder.path().join("log")).expect("a log");
        let child =
            Command::new(server).arg("-c").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        self.child = Some(child.expect("nats-server starts"));
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nats-server does not listen");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops it in order.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The name of the stream whose name begins so.
pub async fn named(context: &Context, begin: &str) -> String {
    let names: Vec<String> = context.stream_names().try_collect().await.expect("names");
    names.into_iter().find(|name| name.starts_with(begin)).expect("it is there")
}

/// The bucket whose name begins so.
pub async fn bucket(context: &Context, begin: &str) -> Store {
    let name = named(context, &format!("KV_{begin}")).await;
    context.get_key_value(name.trim_start_matches("KV_")).await.expect("a bucket")
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

/// A way to a server on which nothing moves while it is stalled.
pub struct Way {
    port: u16,
    stalled: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Way {
    pub fn to(nats: &Nats) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (port, server) = (listener.local_addr().expect("an address").port(), nats.port());
        let (stalled, open) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let way = Self { port, stalled: Arc::clone(&stalled), open: Arc::clone(&open) };
        thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", server))) else { continue };
                let both = [(&client, &server), (&server, &client)];
                for (from, to) in both.map(|(from, to)| (from.try_clone(), to.try_clone())) {
                    let (from, to, stalled) = (from.expect("a clone"), to.expect("a clone"), Arc::clone(&stalled));
                    thread::spawn(move || carry(from, to, &stalled));
                }
                open.lock().expect("no panic").extend([client, server]);
            }
        });
        way
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn stall(&self, stalled: bool) {
        self.stalled.store(stalled, Ordering::SeqCst);
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        for stream in self.open.lock().expect("no panic").iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, stalled: &AtomicBool) {
    let mut buffer = [0; 1 << 14];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        while stalled.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(20));
        }
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
