//! The library's own functions, behind those of this runtime.

use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Names of the library's file. It may have been loaded with a plugin, where a search behind the program does not find it.
const FILES: [&CStr; 4] = [c"libtbb.so.12", c"libtbb_debug.so.12", c"libtbbmalloc.so.2", c"libtbb.so"];

/// A function of the library.
pub(super) struct Original {
    name: &'static CStr,
    address: AtomicPtr<libc::c_void>,
}

impl Original {
    pub(super) const fn new(name: &'static str) -> Self {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else { panic!("a name ends in zero") };
        Original { name, address: AtomicPtr::new(null_mut()) }
    }

    /// Where it is. A program that has come here was linked against the library, or has loaded it.
    #[inline]
    pub(super) fn get(&self) -> *mut libc::c_void {
        match self.address.load(Relaxed) {
            address if address.is_null() => self.find(),
            address => address,
        }
    }

    #[cold]
    fn find(&self) -> *mut libc::c_void {
        // SAFETY: the name ends in zero.
        let mut found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        for file in FILES {
            if !found.is_null() {
                break;
            }
            // SAFETY: the name ends in zero; nothing is loaded that is not there already.
            unsafe {
                let library = libc::dlopen(file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
                if !library.is_null() {
                    found = libc::dlsym(library, self.name.as_ptr());
                }
            }
        }
        if found.is_null() {
            missing(self.name);
        }
        self.address.store(found, Relaxed);
        found
    }
}

/// The headers of the program know a function that the library does not have: without this runtime the program would not
/// have started.
fn missing(name: &CStr) -> ! {
    let text = c"keirin: the program calls a function of oneTBB that its library does not have: ";
    for part in [text, name, c"\n"] {
        // SAFETY: the bytes are there.
        unsafe { libc::write(2, part.as_ptr().cast(), part.count_bytes()) };
    }
    // SAFETY: has no preconditions.
    unsafe { libc::abort() }
}

/// Declares functions of the library.
macro_rules! originals {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        /// The library's function with this name.
        ///
        /// # Safety
        /// That of the function.
        #[inline]
        #[allow(non_snake_case)]
        unsafe fn $name($($argument: $type),*) $(-> $result)? {
            static ORIGINAL: $crate::tbb::originals::Original =
                $crate::tbb::originals::Original::new(concat!(stringify!($name), "\0"));
            // SAFETY: the function has this type by the interface between the library and its headers.
            unsafe {
                let function: unsafe extern "C-unwind" fn($($type),*) $(-> $result)? =
                    std::mem::transmute(ORIGINAL.get());
                function($($argument),*)
            }
        }
    )*};
}

pub(super) use originals;
