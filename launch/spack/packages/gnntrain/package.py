"""gnntrain for Spack, from a clone. In its root:

    spack repo add launch/spack
    spack dev-build gnntrain@0.2.0                             # on processors
    spack dev-build gnntrain@0.2.0 +cuda cuda_arch=80,90a      # and on GPUs
"""
from spack.package import *


class Gnntrain(CMakePackage, CudaPackage):
    """Trains graph neural networks on whole graphs, without sampling, on any number of ranks and GPUs."""

    version("0.2.0")

    variant("scotch", default=False, description="Partitions by PT-Scotch as well, a yardstick")
    variant("isal", default=True, description="Read gzip files twice as fast, by ISA-L")
    variant("parquet", default=False, description="Read tables of Parquet, by Apache Arrow")
    variant("python", default=True, description="numpy and h5py for the Python package and launch/compare")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("help2man", type="build")
    depends_on("mpi")
    depends_on("hdf5@1.10: ~mpi")
    depends_on("metis@5.1:")
    depends_on("openblas")
    depends_on("tomlplusplus@3.3:", type="build")
    depends_on("libzip")
    depends_on("zlib-api")
    depends_on("isa-l", when="+isal")
    depends_on("arrow@12: +parquet", when="+parquet")
    depends_on("scotch@7: +mpi ~metis", when="+scotch")
    depends_on("cuda@12:", when="+cuda")
    depends_on("nccl@2.18:", when="+cuda")
    depends_on("python@3.9:", type="run")
    depends_on("py-numpy", type="run", when="+python")
    depends_on("py-h5py", type="run", when="+python")

    def cmake_args(self):
        args = [
            self.define("GNNTRAIN_TESTS", False),
            self.define("GNNTRAIN_NATIVE", False),  # Spack says for which processor
            self.define("GNNTRAIN_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define_from_variant("GNNTRAIN_SCOTCH", "scotch"),
        ]
        if self.spec.satisfies("+cuda") and not self.spec.satisfies("cuda_arch=none"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", ";".join(self.spec.variants["cuda_arch"].value)))
        return args

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", join_path(self.prefix, "share", "gnntrain", "python"))
