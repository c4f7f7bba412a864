//! A line to a server that can be cut.

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// A TCP relay that can be cut.
pub(super) struct Line {
    /// Where it begins.
    pub(super) address: String,
    /// Whether it is whole.
    pub(super) up: watch::Sender<bool>,
    _task: JoinSet<()>,
}

impl Line {
    pub(super) async fn start(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (up, is_up) = watch::channel(true);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut relays = JoinSet::new();
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                let (target, mut is_up) = (target.clone(), is_up.clone());
                relays.spawn(async move {
                    if !*is_up.borrow() {
                        return;
                    }
                    let mut far = TcpStream::connect(target).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        _ = is_up.wait_for(|it| !it) => {}
                    }
                });
            }
        });
        Self { address, up, _task: task }
    }
}
