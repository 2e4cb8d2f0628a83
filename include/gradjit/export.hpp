#pragma once

/// Marks what the shared library exports; everything else is compiled with hidden visibility.
#define GRADJIT_API __attribute__((visibility("default")))
