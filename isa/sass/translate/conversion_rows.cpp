// Rows of the translator: conversion.
#include "isa/sass/translate/rows.h"

namespace heddle::sass {

std::span<const Row> conversion_rows() {
    return {};
}

}  // namespace heddle::sass
