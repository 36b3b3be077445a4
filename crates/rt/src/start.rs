//! The start and the end of a watched program, and its children.

use crate::adversary::Adversary;
use crate::driver::{Driver, Watching};
use crate::layout::{BLOCKS, PAGES_IN_USE, Region, SHADOW};
use crate::options::{Again, Options, VARIABLE};
use crate::record::Recorder;
use crate::shadow::{Shadowed, pages};
use crate::spin::Spin;
use crate::watcher::Watcher;
use crate::{arena, files, layout, learned, modules, regions, steering, tasks, telling, thread, tls, watch};
use keirin_core::analysis::any::Choice;
use keirin_core::analysis::atomtracker::detect::Detector;
use keirin_core::analysis::empty::Empty;
use keirin_core::analysis::fasttrack::FastTrack;
use keirin_core::analysis::velodrome::Velodrome;
use keirin_core::analysis::velodrome::reach::Reach;
use keirin_core::handover::End;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

static STARTED: AtomicBool = AtomicBool::new(false);
/// Where the findings of this process and its children go.
static FINDINGS: Spin<Option<CString>> = Spin::new(None);

unsafe extern "C" {
    fn pthread_setattr_default_np(attributes: *const libc::pthread_attr_t) -> c_int;
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// The arguments of the program lie above all frames of its first thread.
static STACK_END: AtomicUsize = AtomicUsize::new(0);

/// The end of the stack of the first thread; 0 if it is not known.
pub(crate) fn stack_end() -> usize {
    STACK_END.load(Ordering::Relaxed)
}

/// Called before all constructors of the program and its libraries.
///
/// # Safety
/// `environment` must be null or a list of strings with a null at its end; `arguments` likewise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __keirin_start(
    _count: c_int,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    if STARTED.swap(true, Ordering::AcqRel) {
        return;
    }
    STACK_END.store(arguments as usize, Ordering::Relaxed);
    // Also if nothing is watched: a later look-up would void the message that the program gets from `dlerror`.
    crate::real::prepare();
    // SAFETY: by the contract of this function.
    let Some(value) = (unsafe { find_variable(environment) }) else { return };
    let result = std::panic::catch_unwind(|| start(&value, arguments, environment));
    if result.is_err() {
        telling::note("keirin has failed at its start; the program runs unwatched. Please report this");
    }
}

crate::intercept::arch::hooks! {
    // Called by instrumented modules before any other hook: by those of the program after the start, and by a library that
    // was just loaded, which is not known yet.
    fn __tsan_init(; pc) {
        if !STARTED.load(Ordering::Acquire) {
            __keirin_start(0, std::ptr::null(), std::ptr::null());
        } else if watch::is_on() && !modules::is_instrumented(pc) {
            watch::modules_changed();
        }
    }
}

/// The value of our variable. (The C library's own list of variables may not be there yet.)
///
/// # Safety
/// `environment` must be null or a list of strings with a null at its end.
unsafe fn find_variable(mut environment: *const *const c_char) -> Option<String> {
    let of_entry = |entry: &[u8]| {
        let value = entry.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    if environment.is_null() {
        let all = files::read(&CString::from(c"/proc/self/environ")).ok()?;
        return all.split(|byte| *byte == 0).find_map(of_entry);
    }
    loop {
        // SAFETY: the list ends with a null, before which all are strings with an end.
        let entry = unsafe {
            if (*environment).is_null() {
                return None;
            }
            CStr::from_ptr(*environment)
        };
        if let Some(value) = of_entry(entry.to_bytes()) {
            return Some(value);
        }
        // SAFETY: this was not the end of the list.
        environment = unsafe { environment.add(1) };
    }
}

fn start(value: &str, arguments: *const *const c_char, environment: *const *const c_char) {
    // Panics are told through the findings, not on the program's standard error.
    std::panic::set_hook(Box::new(|panic| telling::note(&format!("internal error: {panic}"))));
    let (options, unknown) = Options::parse(value);
    // A name that is not a whole path would make a file wherever the program happens to be.
    let Some(findings) = options.findings.as_ref().filter(|name| name.as_bytes().starts_with(b"/")) else {
        return;
    };
    if let Some(again) = &options.started_again {
        undo(again);
        // SAFETY: the list is that of the start.
        unsafe { forget_again(environment) };
    }
    let mapped = map_all();
    if let Err(Trouble { taken: true, .. }) = mapped
        && options.started_again.as_ref().is_none_or(|again| again.process != std::process::id())
        && !arguments.is_null()
        && !environment.is_null()
    {
        unmap_all();
        start_again(value, arguments, environment);
    }
    modules::update();
    arena::prepare();
    if !telling::start(findings) {
        return;
    }
    *FINDINGS.lock() = Some(findings.clone());
    for pair in unknown {
        telling::note(&format!(
            "the runtime does not know `{pair}`: is the program built by another version?"
        ));
    }
    if let Err(Trouble { code, taken }) = mapped {
        unmap_all();
        telling::note(&match code {
            libc::ENOMEM => format!(
                "{}, so that there is no room for shadow memory; the program runs unwatched",
                if is_limited(libc::RLIMIT_AS) {
                    "the address space is limited (ulimit -v)"
                } else if is_limited(libc::RLIMIT_DATA) {
                    "the program's data is limited (ulimit -d)"
                } else {
                    "the kernel gives no more memory than the machine has (vm.overcommit_memory)"
                }
            ),
            _ if taken => "addresses that keirin needs are taken, and starting again without randomization \
                           of addresses did not help; the program runs unwatched"
                .to_owned(),
            code => format!("shadow memory cannot be mapped (error {code}); the program runs unwatched"),
        });
        telling::stop();
        return;
    }
    if let Some(bytes) = options.memory_cap {
        pages::set_most(bytes);
    }
    if let Some(path) = &options.atomic_functions {
        match files::read(path) {
            Ok(text) => {
                regions::load_functions(&String::from_utf8_lossy(&text));
            }
            Err(error) => telling::note(&format!("the list of atomic functions cannot be read: {error}")),
        }
    }
    if let Some(path) = &options.regions {
        match files::read(path) {
            Ok(text) => {
                let strange = learned::load(&String::from_utf8_lossy(&text), options.mismatches.max(1));
                if strange > 0 {
                    telling::note(&format!("{strange} of the learned regions cannot be understood"));
                }
            }
            Err(error) => telling::note(&format!("the learned regions cannot be read: {error}")),
        }
    }
    if let Some(path) = &options.steering {
        match files::read(path) {
            Ok(text) if steering::load(&String::from_utf8_lossy(&text)) => {}
            Ok(_) => telling::note("the plan to steer the run by cannot be understood"),
            Err(error) => telling::note(&format!("the plan to steer the run by cannot be read: {error}")),
        }
    }
    let watcher =
        tasks::choose(&options).filter(|_| options.record.is_none()).unwrap_or_else(|| choose(&options));
    let functions = watcher.recorder().is_some() || regions::has_functions();
    watch::switch_on(watcher, &options, functions);
    // SAFETY: the function has the right type; it runs after the exit handlers of the program, which come later.
    unsafe { on_exit(at_exit, std::ptr::null_mut()) };
}

extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    watch::finish(End::Exit(status));
}

/// The bases of the regions that are mapped, put together: each has a bit that no other has.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// Why memory could not be had.
struct Trouble {
    code: i32,
    /// Something else is there.
    taken: bool,
}

/// What the start maps, once, without a program to watch.
#[cfg(test)]
pub(crate) fn map_for_tests() {
    static MAPPED: std::sync::Once = std::sync::Once::new();
    MAPPED.call_once(|| assert!(map_all().is_ok(), "the shadow can be mapped"));
}

fn map_all() -> Result<(), Trouble> {
    // SAFETY: the call has no preconditions.
    let program = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
    if layout::may_share_shadow(program, libc::getpid as *const () as usize) {
        return Err(Trouble { code: libc::EEXIST, taken: true });
    }
    [PAGES_IN_USE, BLOCKS, SHADOW].into_iter().try_for_each(map)
}

fn map(region: Region) -> Result<(), Trouble> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: a mapping that replaces nothing.
    let address = unsafe {
        libc::syscall(
            libc::SYS_mmap,
            region.base,
            region.size,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0,
        )
    };
    if address == -1 {
        let code = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
        return Err(Trouble { code, taken: code == libc::EEXIST });
    }
    if address as usize != region.base {
        // An old kernel takes the address as a wish.
        return Err(Trouble { code: libc::EEXIST, taken: true });
    }
    MAPPED.fetch_or(region.base, Ordering::Relaxed);
    // Core dumps would be terabytes long.
    // SAFETY: the range was just mapped.
    unsafe { libc::madvise(address as *mut c_void, region.size, libc::MADV_DONTDUMP) };
    Ok(())
}

/// Gives back what could be mapped, so that it is not in the way of a program that runs unwatched.
fn unmap_all() {
    for region in [PAGES_IN_USE, BLOCKS, SHADOW] {
        if MAPPED.load(Ordering::Relaxed) & region.base == region.base {
            // SAFETY: it was mapped by `map`, and nothing was put there.
            unsafe { libc::syscall(libc::SYS_munmap, region.base, region.size) };
        }
    }
    MAPPED.store(0, Ordering::Relaxed);
}

fn is_limited(resource: libc::__rlimit_resource_t) -> bool {
    limit(resource).is_some_and(|limit| limit.rlim_cur != libc::RLIM_INFINITY)
}

fn limit(resource: libc::__rlimit_resource_t) -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let none = std::ptr::null::<libc::rlimit>();
    // SAFETY: the limit is filled in by the call.
    let result = unsafe { libc::syscall(libc::SYS_prlimit64, 0, resource, none, &raw mut limit) };
    (result == 0).then_some(limit)
}

fn set_stack_limit(now: u64, most: u64) -> bool {
    let limit = libc::rlimit { rlim_cur: now, rlim_max: most };
    let none = std::ptr::null_mut::<libc::rlimit>();
    // SAFETY: the limit lives during the call.
    unsafe { libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_STACK, &raw const limit, none) == 0 }
}

/// The layout of old kernels, with libraries in the midst of the address space.
const OLD_LAYOUT: c_int = libc::ADDR_COMPAT_LAYOUT;
/// As good as no limit, but libraries are put below such a stack, and not where the old layout has them.
const LARGE_STACK: u64 = 1 << 40;
/// What threads get as a stack where stacks have no limit.
const STACK_OF_THREADS: usize = 2 << 20;

/// After [`start_again`]: the program and its children find their surroundings as they were.
fn undo(again: &Again) {
    if again.process != std::process::id() {
        return;
    }
    // SAFETY: a plain system call; the attributes are set before they are used.
    unsafe {
        libc::personality(libc::c_ulong::from(again.persona));
        if again.unlimited_stack
            && let Some(limit) = limit(libc::RLIMIT_STACK)
        {
            set_stack_limit(libc::RLIM_INFINITY, limit.rlim_max);
            // The C library has taken the size of the stack for that of its threads.
            let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
            if libc::pthread_attr_init(attributes.as_mut_ptr()) == 0 {
                libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK_OF_THREADS);
                pthread_setattr_default_np(attributes.as_ptr());
                libc::pthread_attr_destroy(attributes.as_mut_ptr());
            }
        }
    }
}

/// Takes the mark of the second start out of the variable again: what this process starts has its own start.
///
/// # Safety
/// `environment` must be null or a list of strings with a null at its end, which may be written to.
unsafe fn forget_again(mut environment: *const *const c_char) {
    // SAFETY: the list ends with a null, before which all are strings with an end.
    unsafe {
        while !environment.is_null() && !(*environment).is_null() {
            let text = CStr::from_ptr(*environment).to_bytes();
            let mark = text.windows(MARK.len()).rposition(|part| part == MARK);
            if let Some(at) = mark.filter(|_| text.starts_with(VARIABLE.as_bytes())) {
                (*environment).cast_mut().add(at).write(0);
            }
            environment = environment.add(1);
        }
    }
}

/// What begins the last part of the variable in a process that was started again.
const MARK: &[u8] = b";reexec=";

/// Starts the program again in an address space without randomization and without what the old layout puts in our way.
/// Returns only if that fails.
fn start_again(value: &str, arguments: *const *const c_char, environment: *const *const c_char) {
    // SAFETY: asks only.
    let persona = unsafe { libc::personality(0xffff_ffff) };
    if persona == -1 {
        return;
    }
    let unlimited_stack = limit(libc::RLIMIT_STACK).filter(|limit| limit.rlim_cur == libc::RLIM_INFINITY);
    let again = Again {
        process: std::process::id(),
        persona: persona.cast_unsigned(),
        unlimited_stack: unlimited_stack.is_some(),
    };
    // A parent may have been started again as well.
    let others = value.split(';').filter(|pair| !pair.starts_with("reexec="));
    let value = others.chain([&*again.to_text()]).collect::<Vec<_>>().join(";");
    let Ok(changed) = CString::new(format!("{VARIABLE}={value}")) else { return };
    let mut variables = vec![changed.as_ptr()];
    let mut next = environment;
    // SAFETY: the list ends with a null, before which all are strings with an end.
    unsafe {
        while !(*next).is_null() {
            if !CStr::from_ptr(*next).to_bytes().starts_with(VARIABLE.as_bytes()) {
                variables.push(*next);
            }
            next = next.add(1);
        }
    }
    variables.push(std::ptr::null());
    // SAFETY: all lists end with a null, and all strings have an end.
    unsafe {
        let changed = (persona | libc::ADDR_NO_RANDOMIZE) & !OLD_LAYOUT;
        if libc::personality(changed as libc::c_ulong) == -1 {
            return;
        }
        if let Some(limit) = unlimited_stack {
            set_stack_limit(LARGE_STACK, limit.rlim_max);
        }
        libc::syscall(libc::SYS_execve, c"/proc/self/exe".as_ptr(), arguments, variables.as_ptr());
        // It has failed.
        libc::personality(persona as libc::c_ulong);
        if let Some(limit) = unlimited_stack {
            set_stack_limit(limit.rlim_cur, limit.rlim_max);
        }
    }
}

fn driver<A: Shadowed>(analysis: A, options: &Options) -> &'static Driver<A> {
    let recorder = options.record.as_ref().and_then(|path| {
        Recorder::create(path.clone())
            .inspect_err(|error| {
                let path = path.to_string_lossy();
                telling::note(&format!("{path} cannot be written: {error}; the run is not recorded"));
            })
            .ok()
    });
    let pause = Duration::from_millis(options.adversary_pause_milliseconds);
    let watching = Watching {
        exact_order: options.exact_order,
        critical_sections: options.critical_sections,
        adversary: options.adversary.map(|policy| Adversary::new(policy, pause)),
    };
    Box::leak(Box::new(Driver::new(analysis, recorder, watching)))
}

/// The driver for the analyses that are asked for.
fn choose(options: &Options) -> &'static dyn Watcher {
    if options.analyses == ["atomtracker"] {
        return driver(Detector::shared(), options);
    }
    let mut choice = Choice::default();
    for name in &options.analyses {
        if name != "empty" && !choice.add(name) {
            telling::note(&format!("the runtime does not know the analysis {name}"));
        }
    }
    // AeroDrome says that there is a violation, Velodrome which one.
    choice.velodrome |= choice.aerodrome;
    // The adversary asks Atomizer what would break a block.
    choice.atomizer |= options.adversary.is_some();
    let (races, blocks) =
        (Choice { fasttrack: true, ..Choice::default() }, Choice { velodrome: true, ..Choice::default() });
    match choice {
        choice if choice == Choice::default() => driver(Empty, options),
        choice if choice == races => {
            let driver = driver(FastTrack::compact(), options);
            watch::set_shortcut(driver);
            driver
        }
        choice if choice == blocks => driver(Velodrome::shared(Reach::default()), options),
        choice => driver(choice.analysis(), options),
    }
}

/// In a child process after a fork. If there were several threads, locks may be held by threads that are gone: the child is
/// not watched. Else it goes on, and tells its own findings.
pub(crate) fn in_child() {
    // Whatever lock is held now was held by a thread that is gone: nobody will ever release it.
    let alone = thread::Registry::try_with(|registry| {
        registry.entries().iter().filter(|entry| !entry.ended).count() <= 1
    });
    let findings = FINDINGS.try_lock().and_then(|findings| findings.clone());
    files::abandon();
    let told = telling::abandon() && findings.is_some_and(|findings| telling::start(&findings));
    if alone != Some(true) || !told {
        if told {
            telling::note("this process was forked from one with several threads; it is not watched");
            telling::stop();
        }
        watch::switch_off();
        tls::set_thread(thread::ENDED);
        return;
    }
    watch::after_fork();
}
