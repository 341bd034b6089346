#include "isa/tpu/instruction.h"

namespace heddle::tpu {

bool Vector::operator==(const Vector& other) const {
    const bool same_kernel = kernel == other.kernel || (kernel && other.kernel && *kernel == *other.kernel);
    return same_kernel && rows == other.rows && columns == other.columns && inputs == other.inputs &&
           outputs == other.outputs && scalars == other.scalars && row_origin == other.row_origin &&
           column_origin == other.column_origin && element_stride == other.element_stride;
}

bool Instruction::operator==(const Instruction& other) const {
    return operation == other.operation && waits == other.waits && signals == other.signals;
}

namespace {

struct UnitOf {
    UnitKind operator()(const Dma& dma) const {
        return dma.kind == DmaKind::load || dma.kind == DmaKind::gather ? UnitKind::dma_load
                                                                        : UnitKind::dma_store;
    }
    UnitKind operator()(const PushWeights&) const { return UnitKind::push; }
    UnitKind operator()(const Matmul&) const { return UnitKind::matmul; }
    UnitKind operator()(const Pop&) const { return UnitKind::pop; }
    UnitKind operator()(const Vector&) const { return UnitKind::vector; }
    UnitKind operator()(const Transpose&) const { return UnitKind::transpose; }
    template <class Other>
    UnitKind operator()(const Other&) const {
        return UnitKind::sequencer;
    }
};

struct MnemonicOf {
    const char* operator()(const Dma& dma) const {
        switch (dma.kind) {
            case DmaKind::load:
                return "dma.load";
            case DmaKind::store:
                return "dma.store";
            case DmaKind::gather:
                return "dma.gather";
            case DmaKind::scatter:
                return "dma.scatter";
            case DmaKind::scatter_add:
                return "dma.scatter_add";
        }
        return "?";
    }
    const char* operator()(const PushWeights&) const { return "push"; }
    const char* operator()(const Matmul&) const { return "matmul"; }
    const char* operator()(const Pop&) const { return "pop"; }
    const char* operator()(const Vector&) const { return "vector"; }
    const char* operator()(const Transpose&) const { return "transpose"; }
    const char* operator()(const Signal&) const { return "signal"; }
    const char* operator()(const Wait&) const { return "wait"; }
    const char* operator()(const Repeat&) const { return "repeat"; }
    const char* operator()(const EndRepeat&) const { return "}"; }
    const char* operator()(const Halt&) const { return "halt"; }
};

}  // namespace

UnitKind unit_of(const Operation& operation) {
    return std::visit(UnitOf{}, operation);
}
const char* mnemonic(const Operation& operation) {
    return std::visit(MnemonicOf{}, operation);
}

}  // namespace heddle::tpu
