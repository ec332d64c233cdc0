; Dynamic shared memory of a block, which Rust cannot name: an external global in address space 3. After inlining, the
; optimiser sees the address space and emits ld.shared and st.shared.
target triple = "nvptx64-nvidia-cuda"

@rarefy_dynamic_shared = external addrspace(3) global [0 x i8], align 16

define ptr @rarefy_shared_memory() alwaysinline {
  ret ptr addrspacecast (ptr addrspace(3) @rarefy_dynamic_shared to ptr)
}
