//! The one declaration from which entry point, emulation and typed launch come.
//!
//! ```
//! use rarefy_simt::kernel;
//!
//! kernel! {
//!     /// out[i] = a x[i] + y[i], one thread an element; 12 bytes an element in `f32`.
//!     pub fn axpy<T: Real>(t, x: In<T>, y: In<T>, out: Out<T>; a: T) for f32, f64 {
//!         let i = t.global_idx();
//!         if i < out.len() {
//!             out.set(t, i, a.mul_add(x.get(t, i), y.get(t, i)));
//!         }
//!     }
//! }
//! ```
//!
//! Views of memory come before the semicolon, numbers after it. The declaration generates
//!
//! - the function `axpy(t, x, y, out, a)`, generic over the machine [`Simt`];
//! - on the device, the PTX entries `axpy_f32` and `axpy_f64`, in which every view arrives as pointer and length
//!   (an aggregate would lose the state space of its pointers);
//! - the structure `axpy { x: &x, y: &y, out: &mut out, a }`, which a machine of the host launches:
//!   [`Kernel::run`] is the emulator's entry, [`Kernel::arguments`] the arguments for the driver.
//!
//! Shared memory is part of the declaration, so that the host reserves exactly what the kernel uses:
//! `shared { tile: [T; n * n], sums: [f64; 8] }` after the types; the lengths may use the numbers of the launch.
//!
//! An entry for each of some values of a number lets the compiler compute with constants: after the types, `each shape.n in 8, 16` makes the entries
//! `name_8_f32`, `name_16_f32` and so on, in which `shape.n` is that constant. A launch takes the entry of its own value. `each shape.n in 8, 16 or any` makes
//! the entries of the bare name too, for all other values; without it such a launch fails.

use crate::memory::{Element, In, InOut, Out, Region};
use crate::simt::Simt;

/// The memory of a machine of the host: what kinds of buffer its kernels work on.
///
/// # Safety
/// [`region`](Self::region) returns the memory that the buffer owns, and that no other buffer owns; threads of the machine may use it while they borrow the buffer.
pub unsafe trait DeviceMemory {
    /// Memory for elements of one type.
    type Buffer<T: Element>: Send;
    /// Elements of the buffer.
    fn len<T: Element>(buffer: &Self::Buffer<T>) -> usize;
    /// Where the buffer lies.
    ///
    /// # Safety
    /// The region and its copies are used only while the buffer is borrowed, and for writes only while it is borrowed exclusively.
    #[doc(hidden)]
    unsafe fn region<T: Element>(buffer: &Self::Buffer<T>) -> Region<T>;
}

/// The treatment of a launch's arguments by a machine, in the order of declaration.
pub trait Arguments {
    /// A view: the address and the length of memory.
    fn region(&mut self, address: u64, len: u64);
    /// A number or a `#[repr(C)]` structure of numbers.
    fn value<T: Copy + 'static>(&mut self, value: &T);
}

/// A kernel with its arguments, ready to be launched on a machine with memory `M`. [`kernel!`](crate::kernel!) implements it.
///
/// # Safety
/// [`arguments`](Self::arguments) hands over what the entry point declares: as many arguments, of the same types and in the same order. Each address is that
/// of a buffer that the kernel borrows, exclusively where the entry point writes. A launch on a device checks none of this.
pub unsafe trait Kernel<M: DeviceMemory> {
    /// Name of the entry point in the PTX.
    fn entry(&self) -> &'static str;
    /// Dynamic shared memory that a block needs.
    fn shared_bytes(&self) -> usize;
    /// Hands the arguments over in the order of declaration.
    fn arguments(&self, arguments: &mut impl Arguments);
    /// Runs one thread of the kernel.
    fn run<S: Simt>(&self, t: &S);
}

/// The type of a kernel's view on the host that launches it.
#[doc(hidden)]
pub trait View<'a, T: Element> {
    /// A reference to a buffer, shared or exclusive.
    type Host<M: DeviceMemory + 'a>;
    /// # Safety
    /// As for [`DeviceMemory::region`].
    unsafe fn region<M: DeviceMemory + 'a>(host: &Self::Host<M>) -> Region<T>;
}

macro_rules! host_view {
    ($view:ident, $($reference:tt)+) => {
        impl<'a, T: Element> View<'a, T> for $view<'a, T> {
            type Host<M: DeviceMemory + 'a> = $($reference)+ M::Buffer<T>;
            unsafe fn region<M: DeviceMemory + 'a>(host: &Self::Host<M>) -> Region<T> {
                // SAFETY: the caller's promise is the same.
                unsafe { M::region(host) }
            }
        }
    };
}
host_view!(In, &'a);
host_view!(Out, &'a mut);
host_view!(InOut, &'a mut);

/// Declares a kernel; see the [module](mod@crate::kernel).
#[macro_export]
macro_rules! kernel {
    // Generic over a real type: one entry per type listed after `for`.
    (
        $(#[$doc:meta])*
        pub fn $name:ident<$T:ident: Real>(
            $t:ident, $($view:ident: $kind:ident<$element:ty>),* $(,)?
            $(; $($number:ident: $number_type:ty),* $(,)?)?
        ) for $($instance:ident),+
        $(each $chosen:ident.$field:ident in $($value:literal),+ $(or $any:ident)?)?
        $(shared { $($array:ident: [$array_type:ty; $array_len:expr]),* $(,)? })?
        $body:block
    ) => {
        $crate::__kernel! {
            @body [$(#[$doc])*] $name [$T] $t
            [$($view: $kind<$element>),*] [$($($number: $number_type),*)?]
            [$($($array: [$array_type; $array_len]),*)?] $body
        }
        $crate::__kernel! {
            @entries $name $T [$($instance)+] [$($chosen $field [$($value)+] [$($any)?])?]
            [$($view: $kind<$element>),*] [$($($number: $number_type),*)?]
        }
        $crate::__kernel! {
            @launch [$(#[$doc])*] $name [$T] [$($instance),+] [$($chosen $field [$($value)+] [$($any)?])?]
            [$($view: $kind<$element>),*] [$($($number: $number_type),*)?]
            [$($($array: [$array_type; $array_len]),*)?]
        }
    };
    // Of fixed types: one entry of the kernel's own name.
    (
        $(#[$doc:meta])*
        pub fn $name:ident(
            $t:ident, $($view:ident: $kind:ident<$element:ty>),* $(,)?
            $(; $($number:ident: $number_type:ty),* $(,)?)?
        )
        $(shared { $($array:ident: [$array_type:ty; $array_len:expr]),* $(,)? })?
        $body:block
    ) => {
        $crate::__kernel! {
            @body [$(#[$doc])*] $name [] $t
            [$($view: $kind<$element>),*] [$($($number: $number_type),*)?]
            [$($($array: [$array_type; $array_len]),*)?] $body
        }
        $crate::__kernel! {
            @entry $name [] [] [$($view: $kind<$element>),*] [$($($number: $number_type),*)?]
        }
        $crate::__kernel! {
            @launch [$(#[$doc])*] $name [] [] []
            [$($view: $kind<$element>),*] [$($($number: $number_type),*)?]
            [$($($array: [$array_type; $array_len]),*)?]
        }
    };
}

/// The parts of [`kernel!`].
#[doc(hidden)]
#[macro_export]
macro_rules! __kernel {
    (
        @body [$(#[$doc:meta])*] $name:ident [$($T:ident)?] $t:ident
        [$($view:ident: $kind:ident<$element:ty>),*] [$($number:ident: $number_type:ty),*]
        [$($array:ident: [$array_type:ty; $array_len:expr]),*] $body:block
    ) => {
        $(#[$doc])*
        #[inline(always)]
        #[allow(clippy::too_many_arguments, reason = "the arguments of a launch")]
        pub fn $name<Machine: $crate::Simt $(, $T: $crate::Real)?>(
            $t: &Machine,
            $($view: $crate::$kind<'_, $element>,)*
            $($number: $number_type,)*
        ) {
            #[allow(unused_mut, unused_variables, reason = "a kernel may use no shared memory")]
            let mut layout = $crate::memory::SharedLayout::new();
            $(
                let len = $array_len as usize;
                let offset = layout.reserve::<$array_type>(len);
                // SAFETY: the launch reserves what the same layout counts.
                let $array = unsafe { $crate::Shared::<$array_type>::of($t, offset, len) };
            )*
            $body
        }
    };

    (@entries $name:ident $T:ident [] $each:tt $views:tt $numbers:tt) => {};
    (@entries $name:ident $T:ident [$instance:ident $($rest:ident)*] $each:tt $views:tt $numbers:tt) => {
        $crate::__kernel! { @each $name [$T = $instance] $each $views $numbers }
        $crate::__kernel! { @entries $name $T [$($rest)*] $each $views $numbers }
    };

    (@each $name:ident $instance:tt [$chosen:ident $field:ident [] []] $views:tt $numbers:tt) => {};
    (@each $name:ident $instance:tt [$($chosen:ident $field:ident [] [any])?] $views:tt $numbers:tt) => {
        $crate::__kernel! { @entry $name $instance [] $views $numbers }
    };
    (
        @each $name:ident $instance:tt [$chosen:ident $field:ident [$value:literal $($rest:literal)*] $any:tt]
        $views:tt $numbers:tt
    ) => {
        $crate::__kernel! { @entry $name $instance [$chosen $field $value] $views $numbers }
        $crate::__kernel! { @each $name $instance [$chosen $field [$($rest)*] $any] $views $numbers }
    };

    (
        @entry $name:ident [$($T:ident = $instance:ident)?] [$($chosen:ident $field:ident $value:literal)?]
        [$($view:ident: $kind:ident<$element:ty>),*] [$($number:ident: $number_type:ty),*]
    ) => {
        #[cfg(target_arch = "nvptx64")]
        $crate::pastey::paste! {
            const _: () = {
                $(type $T = $instance;)?
                // SAFETY: the host launches this entry with the arguments that the same declaration lists.
                #[unsafe(export_name = concat!(stringify!($name) $(, "_", $value)? $(, "_", stringify!($instance))?))]
                unsafe extern "ptx-kernel" fn entry(
                    $([<$view _pointer>]: *mut $element, [<$view _len>]: usize,)*
                    $($number: $number_type,)*
                ) {
                    $(
                        let mut $chosen = $chosen;
                        $chosen.$field = $value;
                    )?
                    $name(
                        &$crate::ptx::Gpu,
                        // SAFETY: the launch passes memory that outlives the kernel.
                        $(unsafe {
                            $crate::$kind::from_region(
                                $crate::Region::new([<$view _pointer>], [<$view _len>])
                            )
                        },)*
                        $($number,)*
                    );
                }
            };
        }
    };

    (
        @launch [$(#[$doc:meta])*] $name:ident [$($T:ident)?] $instances:tt $each:tt
        [$($view:ident: $kind:ident<$element:ty>),*] [$($number:ident: $number_type:ty),*]
        [$($array:ident: [$array_type:ty; $array_len:expr]),*]
    ) => {
        $(#[$doc])*
        #[allow(non_camel_case_types, reason = "the launch of a kernel bears the kernel's name")]
        #[cfg(not(target_arch = "nvptx64"))]
        pub struct $name<'a, M: $crate::DeviceMemory + 'a $(, $T: $crate::Real)?> {
            $(
                #[allow(missing_docs, reason = "named in the kernel's own documentation")]
                pub $view: <$crate::$kind<'a, $element> as $crate::kernel::View<'a, $element>>::Host<M>,
            )*
            $(
                #[allow(missing_docs, reason = "named in the kernel's own documentation")]
                pub $number: $number_type,
            )*
        }

        // SAFETY: the entry point comes from the same declaration, and the structure borrows the buffers as its views need it.
        #[cfg(not(target_arch = "nvptx64"))]
        unsafe impl<'a, M: $crate::DeviceMemory + 'a $(, $T: $crate::Real)?> $crate::Kernel<M>
            for $name<'a, M $(, $T)?>
        {
            fn entry(&self) -> &'static str {
                $crate::__kernel!(@entry_name self $name [$($T)?] $instances $each)
            }

            #[allow(unused_mut, unused_variables, reason = "not every length depends on every number")]
            fn shared_bytes(&self) -> usize {
                let Self { $($number,)* .. } = self;
                $(let $number = *$number;)*
                let mut layout = $crate::memory::SharedLayout::new();
                $(layout.reserve::<$array_type>($array_len as usize);)*
                layout.bytes()
            }

            fn arguments(&self, arguments: &mut impl $crate::Arguments) {
                $(
                    // SAFETY: only its address and its length are used.
                    let region = unsafe {
                        <$crate::$kind<'a, $element> as $crate::kernel::View<'a, $element>>::region::<M>(&self.$view)
                    };
                    arguments.region(region.address(), region.len() as u64);
                )*
                $(arguments.value(&self.$number);)*
            }

            fn run<S: $crate::Simt>(&self, t: &S) {
                $name(
                    t,
                    $(
                        // SAFETY: the structure borrows the buffer for as long as it lives.
                        unsafe {
                            $crate::$kind::from_region(
                                <$crate::$kind<'a, $element> as $crate::kernel::View<'a, $element>>::region::<M>(
                                    &self.$view,
                                ),
                            )
                        },
                    )*
                    $(self.$number,)*
                );
            }
        }
    };

    (@entry_name $this:ident $name:ident [] [] []) => { stringify!($name) };
    (@entry_name $this:ident $name:ident [$T:ident] $instances:tt []) => {
        $crate::__kernel!(@instance $name $T $instances "" "")
    };
    (@entry_name $this:ident $name:ident [$T:ident] $instances:tt [$chosen:ident $field:ident [$($value:literal)+] $any:tt]) => {
        match $this.$chosen.$field {
            $($value => $crate::__kernel!(@instance $name $T $instances "_" $value),)+
            _ => $crate::__kernel!(@any $name $T $instances $any),
        }
    };
    // A machine has no entry of this name.
    (@any $name:ident $T:ident $instances:tt []) => { stringify!($name) };
    (@any $name:ident $T:ident $instances:tt [any]) => {
        $crate::__kernel!(@instance $name $T $instances "" "")
    };
    (@instance $name:ident $T:ident [$($instance:ident),+] $infix:literal $value:literal) => {
        $(
            if <$T as $crate::Real>::NAME == stringify!($instance) {
                concat!(stringify!($name), $infix, $value, "_", stringify!($instance))
            } else
        )+
        {
            // `Real` has no implementation outside the listed types.
            ""
        }
    };
}
