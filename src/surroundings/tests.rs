//! Limits read from trees of files as kernels, containers and service managers show them.

use super::*;

/// A tree of files, gone when dropped.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let tree = Self(std::env::temp_dir().join(format!("nqueens-tree-{}-{name}", std::process::id())));
        for (file, text) in files {
            let file = tree.0.join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(file, text).expect("written");
        }
        tree
    }

    fn megabytes(&self) -> Option<u64> {
        memory_below(&self.0).map(|bytes| bytes >> 20)
    }

    fn cpus(&self) -> Option<usize> {
        cpu_quota_below(&self.0)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:  8388608 kB\nMemAvailable:    4194304 kB\n");
const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const V1: &str = "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n\
    32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n\
    35 31 0:32 / /sys/fs/cgroup/memory rw shared:11 - cgroup cgroup rw,memory\n";
/// What version 1 says where there is no limit.
const NONE_V1: &str = "9223372036854771712\n";

#[test]
fn without_groups_the_machine_is_the_limit() {
    let bare = Tree::new("bare", &[MACHINE]);
    assert_eq!((bare.megabytes(), bare.cpus()), (Some(4096), None));
    let nothing = Tree::new("nothing", &[]);
    assert_eq!((nothing.megabytes(), nothing.cpus()), (None, None));
}

#[test]
fn version_2_in_a_container_is_read_at_the_mount() {
    let tree = Tree::new(
        "v2-container",
        &[
            MACHINE,
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/memory.max", "268435456\n"),
            ("sys/fs/cgroup/cpu.max", "150000 100000\n"),
        ],
    );
    assert_eq!((tree.megabytes(), tree.cpus()), (Some(256), Some(2)));
}

#[test]
fn version_2_of_a_service_is_read_in_its_own_group() {
    let tree = Tree::new(
        "v2-service",
        &[
            MACHINE,
            ("proc/self/cgroup", "0::/system.slice/nqueens.service\n"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/system.slice/memory.max", "max\n"),
            ("sys/fs/cgroup/system.slice/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/system.slice/nqueens.service/memory.max", "52428800\n"),
            ("sys/fs/cgroup/system.slice/nqueens.service/cpu.max", "20000 100000\n"),
        ],
    );
    assert_eq!((tree.megabytes(), tree.cpus()), (Some(50), Some(1)));
}

#[test]
fn a_smaller_limit_above_the_own_group_counts() {
    let groups = "0::/kubepods.slice/pod7.slice/nqueens.scope\n";
    let tree = Tree::new(
        "v2-above",
        &[
            MACHINE,
            ("proc/self/cgroup", groups),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/kubepods.slice/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/kubepods.slice/cpu.max", "250000 100000\n"),
            ("sys/fs/cgroup/kubepods.slice/pod7.slice/memory.max", "104857600\n"),
            ("sys/fs/cgroup/kubepods.slice/pod7.slice/cpu.max", "700000 100000\n"),
            ("sys/fs/cgroup/kubepods.slice/pod7.slice/nqueens.scope/memory.max", "max\n"),
            ("sys/fs/cgroup/kubepods.slice/pod7.slice/nqueens.scope/cpu.max", "max 100000\n"),
        ],
    );
    assert_eq!((tree.megabytes(), tree.cpus()), (Some(100), Some(3)));
}

#[test]
fn version_1_has_a_tree_for_each_kind() {
    let tree = Tree::new(
        "v1-nested",
        &[
            MACHINE,
            ("proc/self/cgroup", "9:name=systemd:/\n4:memory:/a/b\n3:cpuset:/\n2:cpu,cpuacct:/c\n0::/\n"),
            ("proc/self/mountinfo", V1),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", NONE_V1),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "52428800\n"),
            ("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", NONE_V1),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "350000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n"),
        ],
    );
    assert_eq!((tree.megabytes(), tree.cpus()), (Some(50), Some(4)));
}

#[test]
fn a_container_of_version_1_sees_its_group_at_the_mount() {
    let mounts = "35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro master:15 - cgroup cgroup rw,memory\n";
    let tree = Tree::new(
        "v1-container",
        &[
            MACHINE,
            ("proc/self/cgroup", "4:memory:/docker/1f\n"),
            ("proc/self/mountinfo", mounts),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "67108864\n"),
        ],
    );
    assert_eq!(tree.megabytes(), Some(64));
}

#[test]
fn groups_may_be_mounted_elsewhere_and_twice() {
    let mounts = "30 23 0:26 / /run/my\\040groups rw - cgroup2 none rw\n31 23 0:26 /other /mnt rw - cgroup2 none rw\n";
    let tree = Tree::new(
        "v2-elsewhere",
        &[
            MACHINE,
            ("proc/self/cgroup", "0::/a:b/c d\n"),
            ("proc/self/mountinfo", mounts),
            ("run/my groups/a:b/c d/memory.max", "33554432"),
            ("mnt/memory.max", "1048576\n"),
        ],
    );
    assert_eq!(tree.megabytes(), Some(32));
}

#[test]
fn a_mount_that_the_path_does_not_lead_to_is_read_as_it_is() {
    let tree = Tree::new(
        "v2-foreign",
        &[
            MACHINE,
            ("proc/self/cgroup", "0::/../../elsewhere\n"),
            ("proc/self/mountinfo", "30 23 0:26 /pods/7 /sys/fs/cgroup ro - cgroup2 cgroup ro\n"),
            ("sys/fs/cgroup/memory.max", "16777216\n"),
            ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
        ],
    );
    assert_eq!((tree.megabytes(), tree.cpus()), (Some(16), Some(1)));
}

#[test]
fn both_versions_at_once_and_the_machine_if_it_has_less() {
    let mounts = format!("{V1}41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    let tree = |name: &str, limit| {
        let files = [
            ("proc/meminfo", "MemAvailable:    1048576 kB\n"),
            ("proc/self/cgroup", "4:memory:/\n0::/a\n"),
            ("proc/self/mountinfo", &mounts),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", NONE_V1),
            ("sys/fs/cgroup/unified/a/memory.max", limit),
        ];
        Tree::new(name, &files).megabytes()
    };
    assert_eq!(tree("both", "41943040\n"), Some(40));
    assert_eq!(tree("machine", "34359738368\n"), Some(1024));
}

#[test]
fn what_is_no_limit_is_none() {
    assert_eq!([memory_limit("max\n"), memory_limit(NONE_V1), memory_limit("")], [None; 3]);
    assert_eq!([cpu_quota("max", "100000\n"), cpu_quota("-1\n", "100000\n"), cpu_quota("100000", "0")], [None; 3]);
    assert_eq!(
        [cpu_quota("100000", "100000"), cpu_quota("100001", "100000"), cpu_quota("1", "9")],
        [1, 2, 1].map(Some)
    );
}

#[test]
fn signals_are_bits() {
    let status = "Name:\tx\nSigIgn:\t0000000001001001\nSigCgt:\tffffffffffffffff\n";
    let ignored: Vec<_> = (-1..70).filter(|&signal| is_ignored(status, signal)).collect();
    assert_eq!(ignored, [1, 13, 25]);
    assert!(!is_ignored("", 1));
}

#[test]
fn this_process_has_memory_and_a_cpu() {
    assert!(memory().is_none_or(|bytes| bytes > 1 << 20));
    assert!(cpus() >= 1);
}
