"""gradjit.h as Python's ctypes sees it: plain types, no header. Usage: c_api.py LIBGRADJIT.SO"""

import ctypes
import math
import sys
import threading
from ctypes import POINTER, byref, c_char_p, c_float, c_int32, c_int64, c_size_t, c_uint64, c_void_p

TASK = ctypes.CFUNCTYPE(None, c_void_p, c_size_t)


class Executor(ctypes.Structure):
    _fields_ = [
        ("concurrency", ctypes.CFUNCTYPE(c_int32, c_void_p)),
        ("parallel_for", ctypes.CFUNCTYPE(None, c_void_p, c_size_t, TASK, c_void_p)),
        ("self", c_void_p),
    ]


class EluBackwardArgs(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("src", "dst", "diff_dst", "diff_src")]


class LogSoftmaxBackwardArgs(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("diff_dst", "dst", "diff_src")]


def load(path):
    library = ctypes.CDLL(path)
    library.gradjit_version.restype = c_char_p
    library.gradjit_last_error.restype = c_char_p
    library.gradjit_factory_destroy.argtypes = [c_void_p]
    library.gradjit_tensor_desc_create.argtypes = [
        c_int32, c_int32, POINTER(c_int64), POINTER(c_int64), POINTER(c_void_p)]
    library.gradjit_tensor_desc_destroy.argtypes = [c_void_p]
    library.gradjit_elu_backward_create.argtypes = [
        c_void_p, c_float, c_int32, c_int32, c_void_p, POINTER(c_void_p)]
    library.gradjit_elu_backward_run.argtypes = [c_void_p, POINTER(EluBackwardArgs), POINTER(Executor)]
    library.gradjit_log_softmax_backward_create.argtypes = [
        c_void_p, c_int64, c_int32, c_void_p, POINTER(c_void_p)]
    library.gradjit_log_softmax_backward_run.argtypes = [
        c_void_p, POINTER(LogSoftmaxBackwardArgs), POINTER(Executor)]
    library.gradjit_factory_stats.argtypes = [c_void_p, POINTER(c_uint64), c_size_t]
    library.gradjit_kernel_destroy.argtypes = [c_void_p]
    return library


gradjit = load(sys.argv[1])


def check(status):
    if status != 0:
        raise RuntimeError(gradjit.gradjit_last_error().decode())


def create(function, *arguments):
    handle = c_void_p()
    check(function(*arguments, byref(handle)))
    return handle


def expect_near(actual, expected):
    for a, e in zip(actual, expected, strict=True):
        if abs(a - e) > 1e-6:
            sys.exit(f"{list(actual)} is not {list(expected)}")


def run_tasks(_, tasks, task, context):
    threads = [threading.Thread(target=task, args=(context, i)) for i in range(tasks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


factory = create(gradjit.gradjit_factory_create, None)
desc = create(gradjit.gradjit_tensor_desc_create, 0, 2, (c_int64 * 2)(1, 4), None)
elu = create(gradjit.gradjit_elu_backward_create, factory, 1.0, 0, 0, desc)
log_softmax = create(gradjit.gradjit_log_softmax_backward_create, factory, 1, 0, desc)

Four = c_float * 4
src, g, out = Four(1, -1, 0, 100), Four(0.5, 2, -3, 4), Four()
dst = Four(*[math.log(0.25)] * 4)
address = ctypes.addressof
check(gradjit.gradjit_elu_backward_run(
    elu, EluBackwardArgs(src=address(src), diff_dst=address(g), diff_src=address(out)), None))
expect_near(out, [0.5, 2 * math.exp(-1), -3, 4])

executor = Executor(Executor._fields_[0][1](lambda _: 2), Executor._fields_[1][1](run_tasks), None)
check(gradjit.gradjit_log_softmax_backward_run(
    log_softmax, LogSoftmaxBackwardArgs(diff_dst=address(g), dst=address(dst), diff_src=address(out)), executor))
expect_near(out, [x - 0.25 * 3.5 for x in g])

try:
    create(gradjit.gradjit_log_softmax_backward_create, factory, 2, 0, desc)
    sys.exit("axis 2 of a matrix is no error")
except RuntimeError as error:
    if "axis is 2, expected -2 to 1" not in str(error):
        sys.exit(f"a wrong message: {error}")

stats = (c_uint64 * 2)()
check(gradjit.gradjit_factory_stats(factory, stats, 2))
if stats[1] == 0:
    sys.exit("the factory counted no requests")

for kernel in (elu, log_softmax):
    gradjit.gradjit_kernel_destroy(kernel)
gradjit.gradjit_tensor_desc_destroy(desc)
gradjit.gradjit_factory_destroy(factory)
print(f"gradjit {gradjit.gradjit_version().decode()} from ctypes: good")
