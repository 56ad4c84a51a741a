//! The configs that come with softsense.

/// The names and texts of the shipped configs.
pub(crate) const SHIPPED: [(&str, &str); 26] = [
    ("7450-960", include_str!("../../configs/7450-960.toml")),
    ("980pro-1000", include_str!("../../configs/980pro-1000.toml")),
    ("disksim-ssd", include_str!("../../configs/disksim-ssd.toml")),
    ("mlc-25nm", include_str!("../../configs/mlc-25nm.toml")),
    ("mlc-25nm-gangs", include_str!("../../configs/mlc-25nm-gangs.toml")),
    ("mlc-25nm-serial", include_str!("../../configs/mlc-25nm-serial.toml")),
    ("mlc-970", include_str!("../../configs/mlc-970.toml")),
    ("mlc-lae", include_str!("../../configs/mlc-lae.toml")),
    ("mlc-lae-unsqueezed", include_str!("../../configs/mlc-lae-unsqueezed.toml")),
    ("mlc-lae-worst-case", include_str!("../../configs/mlc-lae-worst-case.toml")),
    ("mlc-laldpc", include_str!("../../configs/mlc-laldpc.toml")),
    ("mlc-laldpc-serial", include_str!("../../configs/mlc-laldpc-serial.toml")),
    ("mqsim-ssd", include_str!("../../configs/mqsim-ssd.toml")),
    ("p5520-1920", include_str!("../../configs/p5520-1920.toml")),
    ("pm9a3-960", include_str!("../../configs/pm9a3-960.toml")),
    ("pool-array", include_str!("../../configs/pool-array.toml")),
    ("qlc-3d", include_str!("../../configs/qlc-3d.toml")),
    ("qlc-3d-cached", include_str!("../../configs/qlc-3d-cached.toml")),
    ("qlc-client", include_str!("../../configs/qlc-client.toml")),
    ("qlc-datacenter", include_str!("../../configs/qlc-datacenter.toml")),
    ("tlc-client", include_str!("../../configs/tlc-client.toml")),
    ("tlc-client-pcie5", include_str!("../../configs/tlc-client-pcie5.toml")),
    ("tlc-enterprise", include_str!("../../configs/tlc-enterprise.toml")),
    ("tlc-enterprise-15tb", include_str!("../../configs/tlc-enterprise-15tb.toml")),
    ("tlc-femu", include_str!("../../configs/tlc-femu.toml")),
    ("tlc-rif", include_str!("../../configs/tlc-rif.toml")),
];

/// The description of a shipped config, in one sentence: its first comment that is for people. A comment that begins with `#:` tells
/// editors where the schema is.
pub(crate) fn about(text: &str) -> &str {
    text.lines().find(|line| !line.starts_with("#:")).unwrap_or_default().trim_start_matches(['#', ' '])
}
