"""A simulated drive that can be mounted: served as a block device, aged, broken, and watched.

`foreground` is `softsense drive serve`. `client` speaks to a drive that is being served, for `softsense drive age`,
`status`, `fault` and `scrub`. `events` are scripts of ageing and faults; `text` and `page` show the drive's status. The
drive itself, with its flash, its codes and the block device, is `DriveServer` of the native core.
"""
