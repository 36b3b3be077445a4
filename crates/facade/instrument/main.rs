//! Puts the sanitizer's calls for atomic operations into code that was compiled without them: bitcode in, object out.
//!
//! Plain accesses stay as they are. Code that touches the memory of a program is mostly generic, and compiled with the program; what is
//! left here must be seen only as far as it orders threads, and anything more would cost time.
//!
//! `cargo keirin --races` compiles this program with the user's own compiler, against the LLVM that the compiler itself runs on,
//! and has it rewrite the bitcode that the libraries of Rust carry inside: no sources, no other toolchain. It is a
//! program of its own, so that an LLVM that does not suit it cannot harm more than one call.
//!
//! `instrument IN OUT [IN OUT …]`

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::process::ExitCode;
use std::ptr::{null, null_mut};

/// Anything that LLVM hands out. Its C interface has such a type for each thing, all of them pointers.
type Handle = *mut c_void;

unsafe extern "C" {
    fn LLVMContextCreate() -> Handle;
    fn LLVMContextDispose(context: Handle);
    fn LLVMCreateMemoryBufferWithContentsOfFile(
        path: *const c_char,
        buffer: *mut Handle,
        message: *mut *mut c_char,
    ) -> c_int;
    fn LLVMParseBitcodeInContext2(context: Handle, buffer: Handle, module: *mut Handle) -> c_int;
    fn LLVMGetFirstFunction(module: Handle) -> Handle;
    fn LLVMGetNextFunction(function: Handle) -> Handle;
    fn LLVMIsDeclaration(function: Handle) -> c_int;
    fn LLVMGetValueName2(value: Handle, length: *mut usize) -> *const c_char;
    fn LLVMGetSection(value: Handle) -> *const c_char;
    fn LLVMSetSection(value: Handle, section: *const c_char);
    fn LLVMGetEnumAttributeKindForName(name: *const c_char, length: usize) -> c_uint;
    fn LLVMCreateEnumAttribute(context: Handle, kind: c_uint, value: u64) -> Handle;
    fn LLVMAddAttributeAtIndex(function: Handle, index: c_uint, attribute: Handle);
    fn LLVMGetFirstBasicBlock(function: Handle) -> Handle;
    fn LLVMGetNextBasicBlock(block: Handle) -> Handle;
    fn LLVMGetFirstInstruction(block: Handle) -> Handle;
    fn LLVMGetNextInstruction(instruction: Handle) -> Handle;
    fn LLVMGetOrdering(instruction: Handle) -> c_int;
    fn LLVMGetBasicBlockTerminator(block: Handle) -> Handle;
    fn LLVMGetInstructionOpcode(instruction: Handle) -> c_int;
    fn LLVMVoidTypeInContext(context: Handle) -> Handle;
    fn LLVMFunctionType(result: Handle, parameters: *const Handle, count: c_uint, variadic: c_int) -> Handle;
    fn LLVMGetNamedFunction(module: Handle, name: *const c_char) -> Handle;
    fn LLVMAddFunction(module: Handle, name: *const c_char, kind: Handle) -> Handle;
    fn LLVMCreateBuilderInContext(context: Handle) -> Handle;
    fn LLVMDisposeBuilder(builder: Handle);
    fn LLVMPositionBuilderBefore(builder: Handle, instruction: Handle);
    fn LLVMBuildCall2(
        builder: Handle,
        kind: Handle,
        function: Handle,
        arguments: *const Handle,
        count: c_uint,
        name: *const c_char,
    ) -> Handle;
    fn LLVMInitializeX86TargetInfo();
    fn LLVMInitializeX86Target();
    fn LLVMInitializeX86TargetMC();
    fn LLVMInitializeX86AsmPrinter();
    fn LLVMInitializeX86AsmParser();
    fn LLVMGetTarget(module: Handle) -> *const c_char;
    fn LLVMGetTargetFromTriple(
        triple: *const c_char,
        target: *mut Handle,
        message: *mut *mut c_char,
    ) -> c_int;
    fn LLVMCreateTargetMachine(
        target: Handle,
        triple: *const c_char,
        processor: *const c_char,
        features: *const c_char,
        level: c_int,
        relocations: c_int,
        code_model: c_int,
    ) -> Handle;
    fn LLVMCreatePassBuilderOptions() -> Handle;
    fn LLVMRunPasses(module: Handle, passes: *const c_char, machine: Handle, options: Handle) -> Handle;
    fn LLVMGetErrorMessage(error: Handle) -> *const c_char;
    fn LLVMTargetMachineEmitToFile(
        machine: Handle,
        module: Handle,
        path: *const c_char,
        kind: c_int,
        message: *mut *mut c_char,
    ) -> c_int;
}

/// The sanitizer's passes, for a module and for each of its functions.
const PASSES: &CStr = c"tsan-module,function(tsan)";
/// What keeps them out of a function. (In a function without this, and without a mark that asks for more, they instrument atomic
/// operations and leave plain accesses alone.)
const MARK_AGAINST: &str = "disable_sanitizer_instrumentation";
/// What the library notes of each thread for itself, under a lock: where its stack ends. The lock would order the end of one thread
/// before the start of the next one, which the program has not asked for, and hide races. Code that was made for types of it has
/// the same in its name.
const LEFT_ALONE: &[u8] = b"14stack_overflow";
/// "Of the function itself", where attributes are put.
const FUNCTION: c_uint = c_uint::MAX;
// Values of enumerations.
const OPTIMIZED: c_int = 2;
const POSITION_INDEPENDENT: c_int = 2;
const DEFAULT_CODE_MODEL: c_int = 0;
const OBJECT: c_int = 1;
const NOT_ATOMIC: c_int = 0;
// Instructions.
const RETURN: c_int = 1;
const LOAD: c_int = 27;
const STORE: c_int = 28;
const FENCE: c_int = 55;
const COMPARE_AND_EXCHANGE: c_int = 56;
const READ_AND_WRITE: c_int = 57;
const RESUME: c_int = 58;

/// Between these the accesses of a thread are not looked at, whoever does them.
const IGNORE: [&CStr; 2] = [c"__tsan_ignore_thread_begin", c"__tsan_ignore_thread_end"];

fn main() -> ExitCode {
    let words: Result<Vec<CString>, _> = std::env::args().skip(1).map(CString::new).collect();
    let Ok(words) = words else { return failed("a path with a zero in it") };
    if words.is_empty() || words.len() % 2 != 0 {
        return failed("usage: instrument IN OUT [IN OUT …]");
    }
    // SAFETY: these have no preconditions.
    unsafe {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
        LLVMInitializeX86AsmParser();
    }
    for pair in words.chunks(2) {
        if let Err(message) = instrument(&pair[0], &pair[1]) {
            return failed(&format!("{}: {message}", pair[0].to_string_lossy()));
        }
    }
    ExitCode::SUCCESS
}

fn failed(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}

/// Reads bitcode, instruments it and writes an object.
fn instrument(input: &CStr, output: &CStr) -> Result<(), String> {
    let (mut buffer, mut module, mut target) = (null_mut(), null_mut(), null_mut());
    let mut message = null_mut();
    // SAFETY: all that is passed on was made by LLVM for this context, and each call that could fail is checked before what it
    // gives is used. The context goes last, with all that belongs to it.
    unsafe {
        let context = LLVMContextCreate();
        if LLVMCreateMemoryBufferWithContentsOfFile(input.as_ptr(), &mut buffer, &mut message) != 0 {
            return Err(told(message, "it cannot be read"));
        }
        if LLVMParseBitcodeInContext2(context, buffer, &mut module) != 0 {
            return Err("it is no bitcode that this LLVM can read".to_owned());
        }
        mark_functions(context, module)?;
        let triple = LLVMGetTarget(module);
        if LLVMGetTargetFromTriple(triple, &mut target, &mut message) != 0 {
            return Err(told(message, "its kind of machine is not known"));
        }
        let machine = LLVMCreateTargetMachine(
            target,
            triple,
            c"x86-64".as_ptr(),
            c"".as_ptr(),
            OPTIMIZED,
            POSITION_INDEPENDENT,
            DEFAULT_CODE_MODEL,
        );
        if machine.is_null() {
            return Err("LLVM makes no code for its kind of machine".to_owned());
        }
        let error = LLVMRunPasses(module, PASSES.as_ptr(), machine, LLVMCreatePassBuilderOptions());
        if !error.is_null() {
            return Err(told(LLVMGetErrorMessage(error), "the passes have failed"));
        }
        if LLVMTargetMachineEmitToFile(machine, module, output.as_ptr(), OBJECT, &mut message) != 0 {
            return Err(told(message, "no object can be written"));
        }
        LLVMContextDispose(context);
    }
    Ok(())
}

/// Marks functions for the sanitizer, and puts each into a section of its own: the linker leaves out those that nobody calls.
///
/// # Safety
/// The module belongs to the context.
unsafe fn mark_functions(context: Handle, module: Handle) -> Result<(), String> {
    // SAFETY: by the contract; a name is valid until the value is changed.
    unsafe {
        let kind = LLVMGetEnumAttributeKindForName(MARK_AGAINST.as_ptr().cast(), MARK_AGAINST.len());
        if kind == 0 {
            return Err(format!("this LLVM does not know {MARK_AGAINST}"));
        }
        let against = LLVMCreateEnumAttribute(context, kind, 0);
        let mut function = LLVMGetFirstFunction(module);
        while !function.is_null() {
            if LLVMIsDeclaration(function) == 0 {
                let mut length = 0;
                let name = LLVMGetValueName2(function, &mut length);
                let name = std::slice::from_raw_parts(name.cast::<u8>(), length);
                let left_alone = name.windows(LEFT_ALONE.len()).any(|part| part == LEFT_ALONE);
                if left_alone || !has_atomic_operations(function) {
                    LLVMAddAttributeAtIndex(function, FUNCTION, against);
                }
                if left_alone {
                    // What it has others do, such as copying, does not count either.
                    ignore_accesses(context, module, function);
                }
                let own = LLVMGetSection(function);
                if own.is_null() || *own == 0 {
                    if let Ok(section) = CString::new([b".text.", name].concat()) {
                        LLVMSetSection(function, section.as_ptr());
                    }
                }
            }
            function = LLVMGetNextFunction(function);
        }
    }
    Ok(())
}

/// True if a function orders threads by itself.
///
/// # Safety
/// The function has a body.
unsafe fn has_atomic_operations(function: Handle) -> bool {
    // SAFETY: by the contract; only loads and stores are asked for their order.
    unsafe {
        let mut block = LLVMGetFirstBasicBlock(function);
        while !block.is_null() {
            let mut instruction = LLVMGetFirstInstruction(block);
            while !instruction.is_null() {
                match LLVMGetInstructionOpcode(instruction) {
                    FENCE | COMPARE_AND_EXCHANGE | READ_AND_WRITE => return true,
                    LOAD | STORE if LLVMGetOrdering(instruction) != NOT_ATOMIC => return true,
                    _ => {}
                }
                instruction = LLVMGetNextInstruction(instruction);
            }
            block = LLVMGetNextBasicBlock(block);
        }
        false
    }
}

/// Has the accesses ignored that are made while a function runs.
///
/// # Safety
/// The function has a body, and belongs to the module and the context.
unsafe fn ignore_accesses(context: Handle, module: Handle, function: Handle) {
    // SAFETY: by the contract; a block has a first and a last instruction.
    unsafe {
        let kind = LLVMFunctionType(LLVMVoidTypeInContext(context), null(), 0, 0);
        let [begin, end] = IGNORE.map(|name| {
            let known = LLVMGetNamedFunction(module, name.as_ptr());
            if known.is_null() { LLVMAddFunction(module, name.as_ptr(), kind) } else { known }
        });
        let builder = LLVMCreateBuilderInContext(context);
        let call_before = |instruction, function| {
            LLVMPositionBuilderBefore(builder, instruction);
            LLVMBuildCall2(builder, kind, function, null(), 0, c"".as_ptr());
        };
        let mut block = LLVMGetFirstBasicBlock(function);
        call_before(LLVMGetFirstInstruction(block), begin);
        while !block.is_null() {
            let last = LLVMGetBasicBlockTerminator(block);
            if matches!(LLVMGetInstructionOpcode(last), RETURN | RESUME) {
                call_before(last, end);
            }
            block = LLVMGetNextBasicBlock(block);
        }
        LLVMDisposeBuilder(builder);
    }
}

/// A message of LLVM, or what is known without.
fn told(message: *const c_char, otherwise: &str) -> String {
    if message.is_null() {
        return otherwise.to_owned();
    }
    // SAFETY: it is a text of LLVM's, which is never given back: the program ends with it.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}
