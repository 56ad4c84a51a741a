//! The end of a process that gets no more memory: one line and an exit code, where Rust would abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// The exit code of the command if its input asks for something that cannot be done.
const BAD_INPUT: i32 = 2;

struct OrEnd;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

/// Ends the process, because nothing that runs without memory is reliable. Files are whole or absent, as after a kill.
#[cold]
fn end(bytes: usize) -> ! {
    // Standard error has no buffer, and numbers are written without memory.
    let _ = writeln!(
        std::io::stderr(),
        "error: found too little memory, of which {bytes} bytes more were wanted, expected a smaller device or fewer jobs"
    );
    #[allow(unsafe_code, reason = "nothing of this process runs any more")]
    unsafe {
        libc::_exit(BAD_INPUT)
    }
}

#[allow(unsafe_code, reason = "each is that of the system, with the same arguments")]
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let found = unsafe { System.alloc(layout) };
        if found.is_null() { end(layout.size()) } else { found }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let found = unsafe { System.alloc_zeroed(layout) };
        if found.is_null() { end(layout.size()) } else { found }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let found = unsafe { System.realloc(at, layout, size) };
        if found.is_null() { end(size) } else { found }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}
