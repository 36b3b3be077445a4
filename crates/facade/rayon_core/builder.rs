//! The making of pools.

use crate::pool::ThreadPool;
use crate::tell;
use keirin_original as original;
use keirin_original::{ThreadBuilder, ThreadPoolBuildError};
use std::any::Any;
use std::error::Error;
use std::{fmt, io, thread};

/// How the threads of a pool are created.
pub trait ThreadSpawn {
    #[doc(hidden)]
    fn build(self, builder: original::ThreadPoolBuilder) -> Result<original::ThreadPool, ThreadPoolBuildError>;

    #[doc(hidden)]
    fn build_global(self, builder: original::ThreadPoolBuilder) -> Result<(), ThreadPoolBuildError>;
}

/// By rayon: they are workers.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn build(self, builder: original::ThreadPoolBuilder) -> Result<original::ThreadPool, ThreadPoolBuildError> {
        tell::creating_workers(|| builder.build())
    }

    fn build_global(self, builder: original::ThreadPoolBuilder) -> Result<(), ThreadPoolBuildError> {
        tell::creating_workers(|| builder.build_global())
    }
}

/// By the program: they are threads like all others, that run tasks among other things.
#[derive(Debug)]
pub struct CustomSpawn<F>(F);

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    fn build(self, builder: original::ThreadPoolBuilder) -> Result<original::ThreadPool, ThreadPoolBuildError> {
        builder.spawn_handler(self.0).build()
    }

    fn build_global(self, builder: original::ThreadPoolBuilder) -> Result<(), ThreadPoolBuildError> {
        builder.spawn_handler(self.0).build_global()
    }
}

/// `rayon_core::ThreadPoolBuilder`.
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    original: original::ThreadPoolBuilder,
    spawn: S,
    /// The number by which it is told that handlers come after the making of the pool: an address of its own.
    made: Option<&'static u64>,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        ThreadPoolBuilder { original: original::ThreadPoolBuilder::default(), spawn: DefaultSpawn, made: None }
    }
}

impl ThreadPoolBuilder {
    pub fn new() -> Self {
        Self::default()
    }

    /// As the original has it, with threads that are seen.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        thread::scope(|scope| {
            let create = |worker: ThreadBuilder| {
                let mut builder = thread::Builder::new();
                if let Some(name) = worker.name() {
                    builder = builder.name(name.to_string());
                }
                if let Some(size) = worker.stack_size() {
                    builder = builder.stack_size(size);
                }
                builder.spawn_scoped(scope, move || wrapper(worker))?;
                Ok(())
            };
            let pool = self.spawn_handler(create).build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.about_to_build();
        self.spawn.build(self.original).map(ThreadPool)
    }

    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        self.about_to_build();
        self.spawn.build_global(self.original)
    }
}

impl<S> ThreadPoolBuilder<S> {
    fn about_to_build(&self) {
        if let Some(made) = self.made {
            tell::before(made as *const u64 as usize);
        }
    }

    fn with(self, change: impl FnOnce(original::ThreadPoolBuilder) -> original::ThreadPoolBuilder) -> Self {
        Self { original: change(self.original), ..self }
    }

    /// Handlers run in workers, outside of tasks, which nobody has created: they come after the making of the pool.
    fn with_handler<H>(
        mut self,
        handler: H,
        set: impl FnOnce(original::ThreadPoolBuilder, Box<dyn Fn(usize) + Send + Sync>) -> original::ThreadPoolBuilder,
    ) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        let made: &'static u64 = self.made.get_or_insert_with(|| Box::leak(Box::new(0)));
        let handler = tell::Handler::new(handler);
        let handler = move |index: usize| {
            tell::after(made as *const u64 as usize);
            handler.call(|handler| handler(index))
        };
        self.with(|builder| set(builder, Box::new(handler)))
    }

    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder { original: self.original, spawn: CustomSpawn(spawn), made: self.made }
    }

    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.with(|builder| builder.thread_name(closure))
    }

    pub fn num_threads(self, num_threads: usize) -> Self {
        self.with(|builder| builder.num_threads(num_threads))
    }

    pub fn use_current_thread(self) -> Self {
        self.with(|builder| builder.use_current_thread())
    }

    pub fn panic_handler<H>(self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        let handler = tell::Handler::new(panic_handler);
        self.with(|builder| builder.panic_handler(move |panic| handler.call(|handler| handler(panic))))
    }

    pub fn stack_size(self, stack_size: usize) -> Self {
        self.with(|builder| builder.stack_size(stack_size))
    }

    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(self) -> Self {
        self.with(|builder| builder.breadth_first())
    }

    pub fn start_handler<H>(self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.with_handler(start_handler, |builder, handler| builder.start_handler(handler))
    }

    pub fn exit_handler<H>(self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.with_handler(exit_handler, |builder, handler| builder.exit_handler(handler))
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.original.fmt(f)
    }
}

/// `rayon_core::Configuration`.
#[deprecated(note = "Use `ThreadPoolBuilder`")]
#[derive(Default)]
pub struct Configuration(ThreadPoolBuilder);

impl Configuration {
    pub fn new() -> Configuration {
        Configuration(ThreadPoolBuilder::new())
    }

    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        self.0.build().map_err(Box::from)
    }

    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        Configuration(self.0.thread_name(closure))
    }

    pub fn num_threads(self, num_threads: usize) -> Configuration {
        Configuration(self.0.num_threads(num_threads))
    }

    pub fn panic_handler<H>(self, panic_handler: H) -> Configuration
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        Configuration(self.0.panic_handler(panic_handler))
    }

    pub fn stack_size(self, stack_size: usize) -> Self {
        Configuration(self.0.stack_size(stack_size))
    }

    pub fn breadth_first(self) -> Self {
        Configuration(self.0.breadth_first())
    }

    pub fn start_handler<H>(self, start_handler: H) -> Configuration
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Configuration(self.0.start_handler(start_handler))
    }

    pub fn exit_handler<H>(self, exit_handler: H) -> Configuration
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Configuration(self.0.exit_handler(exit_handler))
    }
}

impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `rayon_core::initialize`.
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
pub fn initialize(config: Configuration) -> Result<(), Box<dyn Error>> {
    config.0.build_global().map_err(Box::from)
}
