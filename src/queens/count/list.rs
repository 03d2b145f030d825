//! A list that is appended to without a branch.

/// Some items, and behind them room for more. An inner loop writes what it may want to keep to the room, and then moves
/// the end past it or does not.
#[derive(Debug, Default)]
pub(super) struct List<T> {
    items: Vec<T>,
    len: usize,
}

impl<T: Copy + Default> List<T> {
    /// Sees to it that there is room for so many more.
    pub(super) fn reserve(&mut self, more: usize) {
        let end = self.len + more;
        if self.items.len() < end {
            let end = end.max(self.items.len() / 4 * 5);
            self.items.reserve_exact(end - self.items.len()); // else it would be up to twice as much
            self.items.resize(end, T::default());
        }
    }

    /// The room behind the items.
    #[inline(always)]
    pub(super) fn room(&mut self) -> &mut [T] {
        self.items.get_mut(self.len..).unwrap_or_default()
    }

    /// Keeps the first so many items of the room.
    #[inline(always)]
    pub(super) fn keep(&mut self, more: usize) {
        self.len += more;
        debug_assert!(self.len <= self.items.len(), "kept what there was no room for");
    }

    /// Of the items from a place on, keeps only those that are `wanted`.
    pub(super) fn retain_from(&mut self, from: usize, wanted: impl Fn(&T) -> bool) {
        let mut kept = from;
        for at in from..self.len {
            let item = self.items[at];
            self.items[kept] = item;
            kept += usize::from(wanted(&item));
        }
        self.len = kept;
    }

    /// Forgets all items, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// How many items there are.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The items.
    pub(super) fn as_slice(&self) -> &[T] {
        self.items.get(..self.len.min(self.items.len())).unwrap_or_default()
    }

    /// The items, to be put in another order.
    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        let len = self.len.min(self.items.len());
        self.items.get_mut(..len).unwrap_or_default()
    }

    /// The memory it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<T>() * self.items.capacity()
    }
}
