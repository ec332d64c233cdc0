//! Compiling one piece of code for the vector units that the processor at hand turns out to have.

/// A computation that is compiled once for each kind of vector unit.
pub(super) trait Job {
    /// Does it. `FUSED`: a product and a sum round once, in one instruction. `WIDE`: there are 32 vector registers.
    ///
    /// Implementations and what they call must be `#[inline(always)]` to end up in the right variant.
    fn run<const FUSED: bool, const WIDE: bool>(self);
}

/// Runs the best variant of a job. Which one it is depends on the processor only.
pub(super) fn dispatch(job: impl Job) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("fma")
        {
            // SAFETY: the processor has the features.
            return unsafe { avx512(job) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the features.
            return unsafe { avx2(job) };
        }
    }
    if cfg!(target_arch = "aarch64") {
        job.run::<true, true>();
    } else {
        job.run::<false, false>();
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
fn avx512(job: impl Job) {
    job.run::<true, true>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(job: impl Job) {
    job.run::<true, false>();
}
