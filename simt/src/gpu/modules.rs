//! Loading PTX at first use, an entry point at a time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::{CString, c_void};
use std::ptr;

use cudarc::driver::{result, sys};

use super::driver::{Driven, reason};
use super::ptx::{self, PtxModule};
use crate::error::{Error, Result};

/// Shared memory that every kernel may use without asking.
const SHARED_WITHOUT_OPT_IN: usize = 48 << 10;

/// An entry point that is loaded, and what the driver says about it.
#[derive(Clone, Copy)]
pub(super) struct Function {
    pub(super) handle: sys::CUfunction,
    /// Threads that a block may have with the registers that this kernel uses.
    pub(super) most_threads: u32,
    /// Shared memory that is fixed in the PTX.
    pub(super) static_shared: usize,
    /// Dynamic shared memory that a launch may ask for now.
    pub(super) allowed_shared: usize,
}

/// The entry points of one device that are loaded so far, each a module of the driver's.
pub(super) struct Loader {
    modules: &'static [PtxModule],
    capability: u32,
    /// PTX that is unpacked, by the index of its module.
    texts: HashMap<usize, Cow<'static, str>>,
    loaded: HashMap<&'static str, sys::CUmodule>,
    functions: HashMap<&'static str, Function>,
}

impl Loader {
    pub(super) fn new(modules: &'static [PtxModule], capability: u32) -> Self {
        Self {
            modules,
            capability,
            texts: HashMap::new(),
            loaded: HashMap::new(),
            functions: HashMap::new(),
        }
    }

    /// An entry point that was loaded before.
    pub(super) fn loaded(&self, entry: &str) -> Option<Function> {
        self.functions.get(entry).copied()
    }

    /// An entry point, loaded if need be. The device's context is current.
    pub(super) fn function(&mut self, entry: &'static str) -> Result<Function> {
        if let Some(function) = self.loaded(entry) {
            return Ok(function);
        }
        let refuse = |reason: String| Error::Driver {
            action: format!("finding kernel `{entry}`"),
            reason,
        };
        let index = ptx::choose(self.modules, entry, self.capability)
            .ok_or_else(|| refuse(ptx::why_none(self.modules, entry, self.capability)))?;
        let module = self.module(index, entry)?;
        let name = CString::new(entry).map_err(|error| refuse(error.to_string()))?;
        let action = || format!("loading kernel `{entry}`");
        // SAFETY: the module is loaded and stays so as long as the loader.
        let handle = unsafe { result::module::get_function(module, name) }.during_with(action)?;
        // Asking for attributes also makes a lazily loading driver load the code now, not in the first launch.
        let attribute = |attribute| -> Result<usize> {
            // SAFETY: the function was just taken from a loaded module.
            let value = unsafe { result::function::get_function_attribute(handle, attribute) }
                .during_with(action)?;
            Ok(usize::try_from(value).unwrap_or(0))
        };
        use sys::CUfunction_attribute_enum as Attribute;
        let static_shared = attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        let function = Function {
            handle,
            most_threads: attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?
                .try_into()
                .unwrap_or(0),
            static_shared,
            allowed_shared: SHARED_WITHOUT_OPT_IN.saturating_sub(static_shared),
        };
        self.functions.insert(entry, function);
        Ok(function)
    }

    /// Lets launches of a loaded entry point use this much dynamic shared memory.
    pub(super) fn allow_shared(&mut self, entry: &'static str, bytes: usize) -> Result<()> {
        let Some(function) = self.functions.get_mut(entry) else {
            return Ok(());
        };
        if bytes <= function.allowed_shared {
            return Ok(());
        }
        // SAFETY: the function belongs to a module that is loaded.
        unsafe {
            result::function::set_function_attribute(
                function.handle,
                sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                i32::try_from(bytes).unwrap_or(i32::MAX),
            )
        }
        .during_with(|| format!("reserving {bytes} bytes of shared memory for kernel `{entry}`"))?;
        function.allowed_shared = bytes;
        Ok(())
    }

    /// The driver's module of an entry point in the embedded one with this index. The device's context is current.
    fn module(&mut self, index: usize, entry: &'static str) -> Result<sys::CUmodule> {
        // Its attributes could not be read the time before.
        if let Some(module) = self.loaded.get(entry) {
            return Ok(*module);
        }
        let source = &self.modules[index];
        let text = match self.texts.entry(index) {
            Entry::Occupied(text) => text.into_mut(),
            Entry::Vacant(place) => place.insert(source.text()?),
        };
        let part = ptx::of_entry(text, entry);
        let module = load(source, part.as_deref().unwrap_or(text))?;
        self.loaded.insert(entry, module);
        Ok(module)
    }

    /// Has the driver compile and load the whole embedded module with this index. The device's context is current.
    pub(super) fn check(&self, index: usize) -> Result<()> {
        let source = &self.modules[index];
        let module = load(source, &source.text()?)?;
        // SAFETY: the module was just loaded, and nobody else has it.
        unsafe { result::module::unload(module) }.during("unloading a module")
    }

    /// Unloads everything. The device's context is current, and no kernel is running.
    pub(super) fn unload(&mut self) {
        self.functions.clear();
        for (_, module) in self.loaded.drain() {
            // A module that cannot be unloaded goes with the context.
            // SAFETY: the module was loaded by this loader and is out of its tables.
            let _ = unsafe { result::module::unload(module) };
        }
    }
}

/// Has the driver compile and load PTX of a module; the error holds what its compiler says.
fn load(source: &PtxModule, text: &str) -> Result<sys::CUmodule> {
    let action = || {
        format!(
            "compiling the PTX of wing `{}` for compute capability {}",
            source.wing,
            ptx::capability_text(source.capability)
        )
    };
    let text = CString::new(text).map_err(|error| Error::Driver {
        action: action(),
        reason: error.to_string(),
    })?;
    let mut log = vec![0_u8; 8 << 10];
    let mut options = [
        sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    // The driver takes numbers instead of pointers here.
    let mut values = [
        log.as_mut_ptr().cast::<c_void>(),
        ptr::without_provenance_mut(log.len() - 1),
    ];
    let mut module = ptr::null_mut();
    // SAFETY: the text ends in a zero byte; options and values are two each, of the kinds that cuda.h wants for
    // them; the log outlives the call, and the driver receives a length one byte below its size.
    let code = unsafe {
        sys::cuModuleLoadDataEx(
            &raw mut module,
            text.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    code.result().map_err(|error| {
        let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
        let log = String::from_utf8_lossy(&log[..end]);
        let log = log.trim();
        Error::Driver {
            action: action(),
            reason: if log.is_empty() {
                reason(error)
            } else {
                format!("{}; its compiler says: {log}", reason(error))
            },
        }
    })?;
    Ok(module)
}
