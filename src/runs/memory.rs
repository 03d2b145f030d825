//! How much memory this process may have.

use std::fs;

/// The container's limit (cgroup version 2, else 1), or without one what the machine has to give; `None` where none
/// of them can be read.
#[must_use]
pub fn limit() -> Option<u64> {
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let read = |path| fs::read_to_string(path).ok();
    limits.into_iter().filter_map(read).find_map(|text| of_cgroup(&text)).or_else(|| available(&read("/proc/meminfo")?))
}

/// `max`, or in version 1 a number too large to be meant, is no limit.
fn of_cgroup(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|&bytes| bytes < 1 << 60)
}

fn available(meminfo: &str) -> Option<u64> {
    let kilobytes = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    kilobytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|number| number << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        assert_eq!([of_cgroup("max\n"), of_cgroup("9223372036854771712\n")], [None, None]);
        assert_eq!(of_cgroup("268435456\n"), Some(256 << 20));
        assert_eq!(available("MemTotal:  16 kB\nMemAvailable:    1024 kB\n"), Some(1 << 20));
        assert_eq!(available("nothing"), None);
    }
}
