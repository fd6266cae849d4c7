"""The recipe for Spack, run with what stands in for it: every -D is an option of the project, the version is its own, packages that
CMake wants are among what it depends on. check_spack.py SOURCE: prints the -D of processors, a line each."""
import pathlib
import re
import sys
import types

source = pathlib.Path(sys.argv[1])
said = {"version": [], "variant": [], "depends_on": []}
module = types.ModuleType("spack.package")
for name, kept in said.items():
    setattr(module, name, lambda *words, kept=kept, **how: kept.append((words, how)))


class Spec:
    def __init__(self, words, arch=()):
        self.words, self.variants = words, {"cuda_arch": types.SimpleNamespace(value=arch)}
        self.arch = arch

    def satisfies(self, text):
        return not self.arch if text == "cuda_arch=none" else text in self.words


class CMakePackage:
    prefix = "/prefix"

    @staticmethod
    def define(name, value):
        return f"-D{name}={('OFF', 'ON')[value] if isinstance(value, bool) else value}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.spec.satisfies(f"+{variant}"))


module.CMakePackage, module.CudaPackage = CMakePackage, type("CudaPackage", (), {})
module.join_path = lambda *parts: "/".join(parts)
sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": module})
recipe = {}
exec(compile((source / "launch/spack/packages/gnntrain/package.py").read_text(), "package.py", "exec"), recipe)
package = recipe["Gnntrain"]()

project = (source / "CMakeLists.txt").read_text()
number = re.search(r"project\(gnntrain VERSION (\S+)", project)[1]
assert said["version"] == [((number,), {})], said["version"]
assert recipe["__doc__"].count(f"gnntrain@{number}") == 2
options = set(re.findall(r"^(?:option|set)\((GNNTRAIN_\w+)", project, re.MULTILINE)) | {"CMAKE_CUDA_ARCHITECTURES"}


def of(*words, arch=()):
    package.spec = Spec(words, arch)
    return dict(word.removeprefix("-D").split("=", 1) for word in package.cmake_args())


plain, full = of("+isal"), of("+cuda", "+scotch", arch=("80", "90a"))
assert set(plain) | set(full) <= options, set(full) - options
assert plain["GNNTRAIN_CUDA"] == plain["GNNTRAIN_SCOTCH"] == "OFF" and "CMAKE_CUDA_ARCHITECTURES" not in plain
assert full["GNNTRAIN_CUDA"] == full["GNNTRAIN_SCOTCH"] == "ON" and full["CMAKE_CUDA_ARCHITECTURES"] == "80;90a"
assert "CMAKE_CUDA_ARCHITECTURES" not in of("+cuda")
wanted = {re.split("[@ ]", words[0])[0] for words, _ in said["depends_on"]}
cmake = (source / "cmake/packages.cmake").read_text() + (source / "cmake/devices.cmake").read_text()
for name, mark in {"mpi": "MPI REQUIRED", "hdf5": "HDF5 REQUIRED", "metis": "METIS_LIBRARY", "openblas": "OPENBLAS_LIBRARY", "libzip": "libzip",
                   "tomlplusplus": "TOMLPLUSPLUS", "zlib-api": "ZLIB REQUIRED", "isa-l": "ISAL_LIBRARY", "scotch": "SCOTCH_LIBRARY",
                   "arrow": "PARQUET QUIET parquet>=12",
                   "nccl": "nccl"}.items():
    assert mark in cmake and name in wanted, name
env = types.SimpleNamespace(prepend_path=lambda *words: said.setdefault("path", words))
package.setup_run_environment(env)
assert said["path"] == ("PYTHONPATH", "/prefix/share/gnntrain/python")
print("\n".join(f"-D{key}={value}" for key, value in plain.items()))
