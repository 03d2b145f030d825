//! What the process may use of the machine: its memory, its CPUs, and which signals it was told to ignore.
//!
//! Containers and service managers limit a process through control groups. A group's limits hold for all groups in it,
//! so the smallest on the way from the process's own group up to the top is the one that counts. `/proc/self/cgroup`
//! says which groups these are, `/proc/self/mountinfo` where they can be read: version 1 has a tree for each kind of
//! limit, version 2 one for all, and a machine may have both.

use std::fs;
use std::path::{Path, PathBuf};

/// How many bytes of memory the process may take: the smallest limit of its control groups, or what the machine has to
/// give where that is less; `None` where nothing of it can be read.
#[must_use]
pub fn memory() -> Option<u64> {
    memory_below(Path::new("/"))
}

/// The number of CPUs that the process may keep busy, at least 1: those it may run on, or the smallest quota of its
/// control groups where that is less, rounded up. (The standard library rounds down, so that 1.5 CPUs would leave half
/// of one unused.)
#[must_use]
pub fn cpus() -> usize {
    let quota = cpu_quota_below(Path::new("/")).unwrap_or(usize::MAX);
    num_cpus::get().min(quota).max(1)
}

/// Whether the process was started with this signal ignored, as `nohup` does with the hang-up. To be asked before
/// anything handles it.
#[must_use]
pub fn ignores(signal: i32) -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| is_ignored(&status, signal))
}

fn memory_below(root: &Path) -> Option<u64> {
    let limits = levels(root, "memory").into_iter().filter_map(|level| match level.version {
        Version::One => memory_limit(&level.read("memory.limit_in_bytes")?),
        Version::Two => memory_limit(&level.read("memory.max")?),
    });
    let machine = fs::read_to_string(root.join("proc/meminfo")).ok();
    limits.chain(machine.and_then(|text| available(&text))).min()
}

/// `max`, or in version 1 a number too large to be meant, is no limit.
fn memory_limit(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|&bytes| bytes < 1 << 60)
}

fn available(meminfo: &str) -> Option<u64> {
    let kilobytes = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    kilobytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|number| number << 10)
}

fn cpu_quota_below(root: &Path) -> Option<usize> {
    let quotas = levels(root, "cpu").into_iter().filter_map(|level| match level.version {
        Version::One => cpu_quota(&level.read("cpu.cfs_quota_us")?, &level.read("cpu.cfs_period_us")?),
        Version::Two => level.read("cpu.max")?.split_once(' ').and_then(|(quota, period)| cpu_quota(quota, period)),
    });
    quotas.min()
}

/// How many CPUs a quota is, rounded up. `max`, or in version 1 a negative number, is none.
fn cpu_quota(quota: &str, period: &str) -> Option<usize> {
    let (quota, period) = (quota.trim().parse::<u64>().ok()?, period.trim().parse::<u64>().ok()?);
    (period > 0).then(|| quota.div_ceil(period).max(1) as usize)
}

/// One bit for each signal, the lowest for signal 1, in hexadecimal digits.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or_default();
    (1..=64).contains(&signal) && mask >> (signal - 1) & 1 == 1
}

/// The version of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// One group on the way from the process's own up to the top.
struct Level {
    version: Version,
    folder: PathBuf,
}

impl Level {
    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(file)).ok()
    }
}

/// All groups above the process that may limit what `controller` stands for, in every tree that has it.
fn levels(root: &Path, controller: &str) -> Vec<Level> {
    let read = |path| fs::read_to_string(root.join(path)).unwrap_or_default();
    let (groups, mounts) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
    let mounts: Vec<_> = mounts.lines().filter_map(Mount::read).collect();
    let mut levels = Vec::new();
    for line in groups.lines() {
        // NUMBER:CONTROLLERS:PATH, without controllers in version 2
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let version = if controllers.is_empty() { Version::Two } else { Version::One };
        if version == Version::One && !controllers.split(',').any(|name| name == controller) {
            continue;
        }
        let has_it = |mount: &&Mount| mount.version == version && (version == Version::Two || mount.has(controller));
        let folders = |mount: &Mount| mount.folders(Path::new(group));
        let mut found: Vec<_> = mounts.iter().filter(has_it).flat_map(folders).collect();
        if found.is_empty() {
            // What is mounted has other paths than the process is told, so it can only be looked at as a whole.
            found = mounts.iter().filter(has_it).map(|mount| mount.point.clone()).collect();
        }
        let inside = |folder: PathBuf| root.join(folder.strip_prefix("/").unwrap_or(&folder));
        levels.extend(found.into_iter().map(|folder| Level { version, folder: inside(folder) }));
    }
    levels
}

/// A tree of control groups, or a part of one, that can be seen in the file system.
struct Mount {
    version: Version,
    /// The group that is seen at the mount point.
    root: PathBuf,
    point: PathBuf,
    options: String,
}

impl Mount {
    /// Reads a line of `/proc/self/mountinfo`: number, parent, device, root, point, options, optional fields, a dash, type,
    /// source, options of the type.
    fn read(line: &str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let (mut place, mut kind) = (place.split(' ').skip(3), kind.split(' '));
        let version = match kind.next()? {
            "cgroup" => Version::One,
            "cgroup2" => Version::Two,
            _ => return None,
        };
        let (root, point) = (unescaped(place.next()?), unescaped(place.next()?));
        Some(Self { version, root: root.into(), point: point.into(), options: kind.nth(1)?.to_owned() })
    }

    /// Whether a tree of version 1 is about `controller`.
    fn has(&self, controller: &str) -> bool {
        self.options.split(',').any(|option| option == controller)
    }

    /// The folders of `group` and all above it as far as they can be seen here; none where it cannot.
    fn folders(&self, group: &Path) -> Vec<PathBuf> {
        let below = group.strip_prefix(&self.root).ok();
        below.into_iter().flat_map(Path::ancestors).map(|below| self.point.join(below)).collect()
    }
}

/// Spaces and the like are written as a backslash and three octal digits.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(char::from(byte));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests;
