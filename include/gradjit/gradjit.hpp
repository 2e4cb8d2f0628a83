#pragma once

/// gradjit: just-in-time compiled gradients of ELU and log-softmax for x86-64. Include this one.
#include <gradjit/error.hpp>
#include <gradjit/executor.hpp>
#include <gradjit/kernel.hpp>
#include <gradjit/kernel_factory.hpp>
#include <gradjit/operations.hpp>
#include <gradjit/types.hpp>
#include <gradjit/version.hpp>
