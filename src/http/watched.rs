//! A body that somebody watches.

use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Who watches a body: it hears of each frame and of the end, and is dropped with the body, however that ends.
pub trait Watch<B: Body> {
    /// `body` has given this frame; `None` is its end. Some bodies know of their end with their last frame already
    /// and are not asked again.
    fn sees(&mut self, _body: &B, _frame: Option<&Frame<B::Data>>) {}
}

/// A body as it is, and who watches it.
pub struct Watched<B, W> {
    body: B,
    watch: W,
}

impl<B, W> Watched<B, W> {
    /// `body`, watched by `watch`.
    pub fn new(body: B, watch: W) -> Self {
        Self { body, watch }
    }
}

impl<B: Body + Unpin, W: Watch<B> + Unpin> Body for Watched<B, W> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let Self { body, watch } = &mut *self;
        let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => watch.sees(body, Some(frame)),
            None => watch.sees(body, None),
            Some(Err(_)) => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
