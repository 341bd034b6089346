module @jit_llama_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32xf32>, %arg1: tensor<32xf32>, %arg2: tensor<32xf32>, %arg3: tensor<32x40xf32>, %arg4: tensor<40x32xf32>, %arg5: tensor<48x32xf32>, %arg6: tensor<32x48xf32>, %arg7: tensor<32x48xf32>, %arg8: tensor<32x16xf32>, %arg9: tensor<32x32xf32>, %arg10: tensor<32x32xf32>, %arg11: tensor<32x16xf32>, %arg12: tensor<2x16xi32>, %arg13: tensor<2x16xi32>) -> (tensor<32xf32> {jax.result_info = "result[0]['gain1']"}, tensor<32xf32> {jax.result_info = "result[0]['gain2']"}, tensor<32xf32> {jax.result_info = "result[0]['gain3']"}, tensor<32x40xf32> {jax.result_info = "result[0]['out']"}, tensor<40x32xf32> {jax.result_info = "result[0]['tokens']"}, tensor<48x32xf32> {jax.result_info = "result[0]['w_down']"}, tensor<32x48xf32> {jax.result_info = "result[0]['w_gate']"}, tensor<32x48xf32> {jax.result_info = "result[0]['w_up']"}, tensor<32x16xf32> {jax.result_info = "result[0]['wk']"}, tensor<32x32xf32> {jax.result_info = "result[0]['wo']"}, tensor<32x32xf32> {jax.result_info = "result[0]['wq']"}, tensor<32x16xf32> {jax.result_info = "result[0]['wv']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x16xi32>
    %1 = stablehlo.compare LT, %arg12, %0, SIGNED : (tensor<2x16xi32>, tensor<2x16xi32>) -> tensor<2x16xi1>
    %c_0 = stablehlo.constant dense<40> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x16xi32>
    %3 = stablehlo.add %arg12, %2 : tensor<2x16xi32>
    %4 = stablehlo.select %1, %3, %arg12 : tensor<2x16xi1>, tensor<2x16xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x16xi32>) -> tensor<2x16x1xi32>
    %6 = "stablehlo.gather"(%arg4, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 32>}> : (tensor<40x32xf32>, tensor<2x16x1xi32>) -> tensor<2x16x32xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<2x16x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %cst_1 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<2x16x1xf32>
    %cst_2 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %13 = stablehlo.add %11, %12 : tensor<2x16x1xf32>
    %14 = stablehlo.rsqrt %13 : tensor<2x16x1xf32>
    %15 = stablehlo.divide %14, %13 : tensor<2x16x1xf32>
    %cst_3 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %17 = stablehlo.multiply %16, %15 : tensor<2x16x1xf32>
    %18 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %19 = stablehlo.multiply %6, %18 : tensor<2x16x32xf32>
    %20 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %22 = stablehlo.multiply %19, %21 : tensor<2x16x32xf32>
    %23 = stablehlo.dot_general %22, %arg10, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
    %24 = stablehlo.reshape %23 : (tensor<2x16x32xf32>) -> tensor<2x16x4x8xf32>
    %25 = stablehlo.iota dim = 0 : tensor<16xi32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0] : (tensor<16xi32>) -> tensor<16x1xi32>
    %27 = stablehlo.iota dim = 0 : tensor<4xi32>
    %c_4 = stablehlo.constant dense<2> : tensor<i32>
    %28 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %29 = stablehlo.multiply %28, %27 : tensor<4xi32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %30 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %31 = stablehlo.add %30, %29 : tensor<4xi32>
    %32 = stablehlo.convert %31 : (tensor<4xi32>) -> tensor<4xf32>
    %cst_6 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %34 = stablehlo.divide %32, %33 : tensor<4xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+04> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %36 = stablehlo.power %35, %34 : tensor<4xf32>
    %37 = stablehlo.convert %26 : (tensor<16x1xi32>) -> tensor<16x1xf32>
    %38 = stablehlo.broadcast_in_dim %36, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %39 = stablehlo.broadcast_in_dim %37, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x4xf32>
    %40 = stablehlo.broadcast_in_dim %38, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<16x4xf32>
    %41 = stablehlo.divide %39, %40 : tensor<16x4xf32>
    %42 = stablehlo.cosine %41 : tensor<16x4xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 2] : (tensor<16x4xf32>) -> tensor<16x1x4xf32>
    %44 = stablehlo.sine %41 : tensor<16x4xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 2] : (tensor<16x4xf32>) -> tensor<16x1x4xf32>
    %46 = stablehlo.slice %24 [0:2, 0:16, 0:4, 0:4] : (tensor<2x16x4x8xf32>) -> tensor<2x16x4x4xf32>
    %47 = stablehlo.slice %24 [0:2, 0:16, 0:4, 4:8] : (tensor<2x16x4x8xf32>) -> tensor<2x16x4x4xf32>
    %48 = stablehlo.broadcast_in_dim %43, dims = [1, 2, 3] : (tensor<16x1x4xf32>) -> tensor<1x16x1x4xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x4x4xf32>
    %50 = stablehlo.multiply %46, %49 : tensor<2x16x4x4xf32>
    %51 = stablehlo.broadcast_in_dim %45, dims = [1, 2, 3] : (tensor<16x1x4xf32>) -> tensor<1x16x1x4xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x4x4xf32>
    %53 = stablehlo.multiply %47, %52 : tensor<2x16x4x4xf32>
    %54 = stablehlo.subtract %50, %53 : tensor<2x16x4x4xf32>
    %55 = stablehlo.broadcast_in_dim %43, dims = [1, 2, 3] : (tensor<16x1x4xf32>) -> tensor<1x16x1x4xf32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x4x4xf32>
    %57 = stablehlo.multiply %47, %56 : tensor<2x16x4x4xf32>
    %58 = stablehlo.broadcast_in_dim %45, dims = [1, 2, 3] : (tensor<16x1x4xf32>) -> tensor<1x16x1x4xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x4x4xf32>
    %60 = stablehlo.multiply %46, %59 : tensor<2x16x4x4xf32>
    %61 = stablehlo.add %57, %60 : tensor<2x16x4x4xf32>
    %62 = stablehlo.concatenate %54, %61, dim = 3 : (tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>) -> tensor<2x16x4x8xf32>
    %63 = stablehlo.dot_general %22, %arg8, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x16xf32>) -> tensor<2x16x16xf32>
    %64 = stablehlo.reshape %63 : (tensor<2x16x16xf32>) -> tensor<2x16x2x8xf32>
    %65 = stablehlo.iota dim = 0 : tensor<16xi32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0] : (tensor<16xi32>) -> tensor<16x1xi32>
    %67 = stablehlo.iota dim = 0 : tensor<4xi32>
    %c_8 = stablehlo.constant dense<2> : tensor<i32>
    %68 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %69 = stablehlo.multiply %68, %67 : tensor<4xi32>
    %c_9 = stablehlo.constant dense<0> : tensor<i32>
    %70 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %71 = stablehlo.add %70, %69 : tensor<4xi32>
    %72 = stablehlo.convert %71 : (tensor<4xi32>) -> tensor<4xf32>
    %cst_10 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %74 = stablehlo.divide %72, %73 : tensor<4xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+04> : tensor<f32>
    %75 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %76 = stablehlo.power %75, %74 : tensor<4xf32>
    %77 = stablehlo.convert %66 : (tensor<16x1xi32>) -> tensor<16x1xf32>
    %78 = stablehlo.broadcast_in_dim %76, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %79 = stablehlo.broadcast_in_dim %77, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x4xf32>
    %80 = stablehlo.broadcast_in_dim %78, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<16x4xf32>
    %81 = stablehlo.divide %79, %80 : tensor<16x4xf32>
    %82 = stablehlo.cosine %81 : tensor<16x4xf32>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0, 2] : (tensor<16x4xf32>) -> tensor<16x1x4xf32>
    %84 = stablehlo.sine %81 : tensor<16x4xf32>
    %85 = stablehlo.broadcast_in_dim %84, dims = [0, 2] : (tensor<16x4xf32>) -> tensor<16x1x4xf32>
    %86 = stablehlo.slice %64 [0:2, 0:16, 0:2, 0:4] : (tensor<2x16x2x8xf32>) -> tensor<2x16x2x4xf32>
    %87 = stablehlo.slice %64 [0:2, 0:16, 0:2, 4:8] : (tensor<2x16x2x8xf32>) -> tensor<2x16x2x4xf32>
    %88 = stablehlo.broadcast_in_dim %83, dims = [1, 2, 3] : (tensor<16x1x4xf32>) -> tensor<1x16x1x4xf32>
    %89 = stablehlo.broadcast_in_dim %88, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x2x4xf32>
    %90 = stablehlo.multiply %86, %89 : tensor<2x16x2x4xf32>
    %91 = stablehlo.broadcast_in_dim %85, dims = [1, 2, 3] : (tensor<16x1x4xf32>) -> tensor<1x16x1x4xf32>
    %92 = stablehlo.broadcast_in_dim %91, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x2x4xf32>
    %93 = stablehlo.multiply %87, %92 : tensor<2x16x2x4xf32>
    %94 = stablehlo.subtract %90, %93 : tensor<2x16x2x4xf32>
    %95 = stablehlo.broadcast_in_dim %83, dims = [1, 2, 3] : (tensor<16x1x4xf32>) -> tensor<1x16x1x4xf32>
    %96 = stablehlo.broadcast_in_dim %95, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x2x4xf32>
    %97 = stablehlo.multiply %87, %96 : tensor<2x16x2x4xf32>
    %98 = stablehlo.broadcast_in_dim %85, dims = [1, 2, 3] : (tensor<16x1x4xf32>) -> tensor<1x16x1x4xf32>
    %99 = stablehlo.broadcast_in_dim %98, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x2x4xf32>
    %100 = stablehlo.multiply %86, %99 : tensor<2x16x2x4xf32>
    %101 = stablehlo.add %97, %100 : tensor<2x16x2x4xf32>
    %102 = stablehlo.concatenate %94, %101, dim = 3 : (tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>) -> tensor<2x16x2x8xf32>
    %103 = stablehlo.dot_general %22, %arg11, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x16xf32>) -> tensor<2x16x16xf32>
    %104 = stablehlo.reshape %103 : (tensor<2x16x16xf32>) -> tensor<2x16x2x8xf32>
    %105 = stablehlo.reshape %62 : (tensor<2x16x4x8xf32>) -> tensor<2x16x2x2x8xf32>
    %106 = stablehlo.dot_general %102, %105, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x16x2x8xf32>, tensor<2x16x2x2x8xf32>) -> tensor<2x2x16x16x2xf32>
    %107 = stablehlo.transpose %106, dims = [0, 1, 4, 3, 2] : (tensor<2x2x16x16x2xf32>) -> tensor<2x2x2x16x16xf32>
    %cst_12 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %108 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<2x2x2x16x16xf32>
    %109 = stablehlo.divide %107, %108 : tensor<2x2x2x16x16xf32>
    %c_13 = stablehlo.constant dense<true> : tensor<i1>
    %110 = stablehlo.broadcast_in_dim %c_13, dims = [] : (tensor<i1>) -> tensor<16x16xi1>
    %111 = call @tril(%110) : (tensor<16x16xi1>) -> tensor<16x16xi1>
    %cst_14 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %112:3 = call @_where(%111, %109, %cst_14) : (tensor<16x16xi1>, tensor<2x2x2x16x16xf32>, tensor<f32>) -> (tensor<2x2x2x16x16xf32>, tensor<2x2x2x16x16xi1>, tensor<2x2x2x16x16xf32>)
    %cst_15 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %113 = stablehlo.reduce(%112#0 init: %cst_15) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x2x16x16xf32>, tensor<f32>) -> tensor<2x2x2x16xf32>
    %114 = stablehlo.reshape %113 : (tensor<2x2x2x16xf32>) -> tensor<2x2x2x16x1xf32>
    %115 = stablehlo.broadcast_in_dim %114, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x16x1xf32>) -> tensor<2x2x2x16x16xf32>
    %116 = stablehlo.compare EQ, %112#0, %115, FLOAT : (tensor<2x2x2x16x16xf32>, tensor<2x2x2x16x16xf32>) -> tensor<2x2x2x16x16xi1>
    %117 = stablehlo.convert %116 : (tensor<2x2x2x16x16xi1>) -> tensor<2x2x2x16x16xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %118 = stablehlo.reduce(%117 init: %cst_16) applies stablehlo.add across dimensions = [4] : (tensor<2x2x2x16x16xf32>, tensor<f32>) -> tensor<2x2x2x16xf32>
    %cst_17 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %119 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<2x2x2x16xf32>
    %120 = stablehlo.maximum %119, %113 : tensor<2x2x2x16xf32>
    %121 = stablehlo.compare EQ, %113, %120, FLOAT : (tensor<2x2x2x16xf32>, tensor<2x2x2x16xf32>) -> tensor<2x2x2x16xi1>
    %cst_18 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %122 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<2x2x2x16xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %123 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<2x2x2x16xf32>
    %124 = stablehlo.select %121, %122, %123 : tensor<2x2x2x16xi1>, tensor<2x2x2x16xf32>
    %cst_20 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %125 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<2x2x2x16xf32>
    %126 = stablehlo.compare EQ, %125, %120, FLOAT : (tensor<2x2x2x16xf32>, tensor<2x2x2x16xf32>) -> tensor<2x2x2x16xi1>
    %cst_21 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %127 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<2x2x2x16xf32>
    %cst_22 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %128 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<2x2x2x16xf32>
    %129 = stablehlo.select %126, %127, %128 : tensor<2x2x2x16xi1>, tensor<2x2x2x16xf32>
    %130 = stablehlo.divide %124, %129 : tensor<2x2x2x16xf32>
    %131 = stablehlo.broadcast_in_dim %120, dims = [0, 1, 2, 3] : (tensor<2x2x2x16xf32>) -> tensor<2x2x2x16x1xf32>
    %132 = stablehlo.broadcast_in_dim %131, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x16x1xf32>) -> tensor<2x2x2x16x16xf32>
    %133 = stablehlo.subtract %112#0, %132 : tensor<2x2x2x16x16xf32>
    %134 = stablehlo.exponential %133 : tensor<2x2x2x16x16xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %135 = stablehlo.reduce(%134 init: %cst_23) applies stablehlo.add across dimensions = [4] : (tensor<2x2x2x16x16xf32>, tensor<f32>) -> tensor<2x2x2x16xf32>
    %136 = stablehlo.broadcast_in_dim %135, dims = [0, 1, 2, 3] : (tensor<2x2x2x16xf32>) -> tensor<2x2x2x16x1xf32>
    %137 = stablehlo.broadcast_in_dim %136, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x16x1xf32>) -> tensor<2x2x2x16x16xf32>
    %138 = stablehlo.divide %134, %137 : tensor<2x2x2x16x16xf32>
    %139 = stablehlo.multiply %136, %136 : tensor<2x2x2x16x1xf32>
    %cst_24 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %140 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<2x2x2x16x1xf32>
    %141 = stablehlo.divide %140, %139 : tensor<2x2x2x16x1xf32>
    %142 = stablehlo.dot_general %104, %138, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x16x2x8xf32>, tensor<2x2x2x16x16xf32>) -> tensor<2x2x8x2x16xf32>
    %143 = stablehlo.transpose %142, dims = [0, 4, 1, 3, 2] : (tensor<2x2x8x2x16xf32>) -> tensor<2x16x2x2x8xf32>
    %144 = stablehlo.reshape %143 : (tensor<2x16x2x2x8xf32>) -> tensor<2x16x32xf32>
    %145 = stablehlo.dot_general %144, %arg9, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
    %146 = stablehlo.add %6, %145 : tensor<2x16x32xf32>
    %147 = stablehlo.multiply %146, %146 : tensor<2x16x32xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %148 = stablehlo.reduce(%147 init: %cst_25) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %149 = stablehlo.broadcast_in_dim %148, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %cst_26 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %150 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %151 = stablehlo.divide %149, %150 : tensor<2x16x1xf32>
    %cst_27 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %152 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %153 = stablehlo.add %151, %152 : tensor<2x16x1xf32>
    %154 = stablehlo.rsqrt %153 : tensor<2x16x1xf32>
    %155 = stablehlo.divide %154, %153 : tensor<2x16x1xf32>
    %cst_28 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %156 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %157 = stablehlo.multiply %156, %155 : tensor<2x16x1xf32>
    %158 = stablehlo.broadcast_in_dim %154, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %159 = stablehlo.multiply %146, %158 : tensor<2x16x32xf32>
    %160 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %161 = stablehlo.broadcast_in_dim %160, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %162 = stablehlo.multiply %159, %161 : tensor<2x16x32xf32>
    %163 = stablehlo.dot_general %162, %arg6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x48xf32>) -> tensor<2x16x48xf32>
    %164:3 = call @silu(%163) : (tensor<2x16x48xf32>) -> (tensor<2x16x48xf32>, tensor<2x16x48xf32>, tensor<2x16x48xf32>)
    %165 = stablehlo.dot_general %162, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x48xf32>) -> tensor<2x16x48xf32>
    %166 = stablehlo.multiply %164#0, %165 : tensor<2x16x48xf32>
    %167 = stablehlo.dot_general %166, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x48xf32>, tensor<48x32xf32>) -> tensor<2x16x32xf32>
    %168 = stablehlo.add %146, %167 : tensor<2x16x32xf32>
    %169 = stablehlo.multiply %168, %168 : tensor<2x16x32xf32>
    %cst_29 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %170 = stablehlo.reduce(%169 init: %cst_29) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %171 = stablehlo.broadcast_in_dim %170, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %cst_30 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %172 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %173 = stablehlo.divide %171, %172 : tensor<2x16x1xf32>
    %cst_31 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %174 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %175 = stablehlo.add %173, %174 : tensor<2x16x1xf32>
    %176 = stablehlo.rsqrt %175 : tensor<2x16x1xf32>
    %177 = stablehlo.divide %176, %175 : tensor<2x16x1xf32>
    %cst_32 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %178 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %179 = stablehlo.multiply %178, %177 : tensor<2x16x1xf32>
    %180 = stablehlo.broadcast_in_dim %176, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %181 = stablehlo.multiply %168, %180 : tensor<2x16x32xf32>
    %182 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %183 = stablehlo.broadcast_in_dim %182, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %184 = stablehlo.multiply %181, %183 : tensor<2x16x32xf32>
    %185 = stablehlo.dot_general %184, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x40xf32>) -> tensor<2x16x40xf32>
    %186 = stablehlo.reshape %185 : (tensor<2x16x40xf32>) -> tensor<32x40xf32>
    %187 = stablehlo.reshape %arg13 : (tensor<2x16xi32>) -> tensor<32xi32>
    %188:3 = call @log_softmax(%186) : (tensor<32x40xf32>) -> (tensor<32x40xf32>, tensor<32x40xf32>, tensor<32x1xf32>)
    %189 = stablehlo.broadcast_in_dim %187, dims = [0] : (tensor<32xi32>) -> tensor<32x1xi32>
    %190:2 = call @take_along_axis(%188#0, %189) : (tensor<32x40xf32>, tensor<32x1xi32>) -> (tensor<32x1xf32>, tensor<32x1x1xi32>)
    %cst_33 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %191 = stablehlo.reduce(%190#0 init: %cst_33) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_34 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %192 = stablehlo.divide %191, %cst_34 : tensor<f32>
    %193 = stablehlo.negate %192 : tensor<f32>
    %cst_35 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %194 = stablehlo.negate %cst_35 : tensor<f32>
    %cst_36 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %195 = stablehlo.divide %194, %cst_36 : tensor<f32>
    %196 = stablehlo.broadcast_in_dim %195, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %197 = call @take_along_axis_0(%190#1, %196) : (tensor<32x1x1xi32>, tensor<32x1xf32>) -> tensor<32x40xf32>
    %198 = call @log_softmax_1(%188#1, %188#2, %197) : (tensor<32x40xf32>, tensor<32x1xf32>, tensor<32x40xf32>) -> tensor<32x40xf32>
    %199 = stablehlo.reshape %198 : (tensor<32x40xf32>) -> tensor<2x16x40xf32>
    %200 = stablehlo.dot_general %199, %184, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x40xf32>, tensor<2x16x32xf32>) -> tensor<40x32xf32>
    %201 = stablehlo.transpose %200, dims = [1, 0] : (tensor<40x32xf32>) -> tensor<32x40xf32>
    %202 = stablehlo.dot_general %199, %arg3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x40xf32>, tensor<32x40xf32>) -> tensor<2x16x32xf32>
    %203 = stablehlo.multiply %181, %202 : tensor<2x16x32xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %204 = stablehlo.reduce(%203 init: %cst_37) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %205 = stablehlo.reshape %204 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %206 = stablehlo.broadcast_in_dim %182, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %207 = stablehlo.multiply %202, %206 : tensor<2x16x32xf32>
    %cst_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %208 = stablehlo.reduce(%205 init: %cst_38) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %209 = stablehlo.multiply %168, %207 : tensor<2x16x32xf32>
    %cst_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %210 = stablehlo.reduce(%209 init: %cst_39) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %211 = stablehlo.reshape %210 : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %212 = stablehlo.broadcast_in_dim %176, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %213 = stablehlo.multiply %207, %212 : tensor<2x16x32xf32>
    %214 = stablehlo.multiply %211, %179 : tensor<2x16x1xf32>
    %cst_40 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %215 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %216 = stablehlo.divide %214, %215 : tensor<2x16x1xf32>
    %cst_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %217 = stablehlo.reduce(%216 init: %cst_41) applies stablehlo.add across dimensions = [2] : (tensor<2x16x1xf32>, tensor<f32>) -> tensor<2x16xf32>
    %218 = stablehlo.broadcast_in_dim %217, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x32xf32>
    %219 = stablehlo.multiply %168, %218 : tensor<2x16x32xf32>
    %220 = stablehlo.add %213, %219 : tensor<2x16x32xf32>
    %221 = stablehlo.multiply %218, %168 : tensor<2x16x32xf32>
    %222 = stablehlo.add %220, %221 : tensor<2x16x32xf32>
    %223 = stablehlo.dot_general %222, %166, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<2x16x48xf32>) -> tensor<32x48xf32>
    %224 = stablehlo.transpose %223, dims = [1, 0] : (tensor<32x48xf32>) -> tensor<48x32xf32>
    %225 = stablehlo.dot_general %222, %arg5, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<48x32xf32>) -> tensor<2x16x48xf32>
    %226 = stablehlo.multiply %164#0, %225 : tensor<2x16x48xf32>
    %227 = stablehlo.multiply %225, %165 : tensor<2x16x48xf32>
    %228 = stablehlo.dot_general %226, %162, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x48xf32>, tensor<2x16x32xf32>) -> tensor<48x32xf32>
    %229 = stablehlo.transpose %228, dims = [1, 0] : (tensor<48x32xf32>) -> tensor<32x48xf32>
    %230 = stablehlo.dot_general %226, %arg7, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x48xf32>, tensor<32x48xf32>) -> tensor<2x16x32xf32>
    %231 = call @silu_2(%164#1, %164#2, %163, %227) : (tensor<2x16x48xf32>, tensor<2x16x48xf32>, tensor<2x16x48xf32>, tensor<2x16x48xf32>) -> tensor<2x16x48xf32>
    %232 = stablehlo.dot_general %231, %162, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x48xf32>, tensor<2x16x32xf32>) -> tensor<48x32xf32>
    %233 = stablehlo.transpose %232, dims = [1, 0] : (tensor<48x32xf32>) -> tensor<32x48xf32>
    %234 = stablehlo.dot_general %231, %arg6, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x48xf32>, tensor<32x48xf32>) -> tensor<2x16x32xf32>
    %235 = stablehlo.add %230, %234 : tensor<2x16x32xf32>
    %236 = stablehlo.multiply %159, %235 : tensor<2x16x32xf32>
    %cst_42 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %237 = stablehlo.reduce(%236 init: %cst_42) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %238 = stablehlo.reshape %237 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %239 = stablehlo.broadcast_in_dim %160, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %240 = stablehlo.multiply %235, %239 : tensor<2x16x32xf32>
    %cst_43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %241 = stablehlo.reduce(%238 init: %cst_43) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %242 = stablehlo.multiply %146, %240 : tensor<2x16x32xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %243 = stablehlo.reduce(%242 init: %cst_44) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %244 = stablehlo.reshape %243 : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %245 = stablehlo.broadcast_in_dim %154, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %246 = stablehlo.multiply %240, %245 : tensor<2x16x32xf32>
    %247 = stablehlo.add %222, %246 : tensor<2x16x32xf32>
    %248 = stablehlo.multiply %244, %157 : tensor<2x16x1xf32>
    %cst_45 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %249 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %250 = stablehlo.divide %248, %249 : tensor<2x16x1xf32>
    %cst_46 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %251 = stablehlo.reduce(%250 init: %cst_46) applies stablehlo.add across dimensions = [2] : (tensor<2x16x1xf32>, tensor<f32>) -> tensor<2x16xf32>
    %252 = stablehlo.broadcast_in_dim %251, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x32xf32>
    %253 = stablehlo.multiply %146, %252 : tensor<2x16x32xf32>
    %254 = stablehlo.add %247, %253 : tensor<2x16x32xf32>
    %255 = stablehlo.multiply %252, %146 : tensor<2x16x32xf32>
    %256 = stablehlo.add %254, %255 : tensor<2x16x32xf32>
    %257 = stablehlo.dot_general %256, %144, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<2x16x32xf32>) -> tensor<32x32xf32>
    %258 = stablehlo.transpose %257, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %259 = stablehlo.dot_general %256, %arg9, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
    %260 = stablehlo.reshape %259 : (tensor<2x16x32xf32>) -> tensor<2x16x2x2x8xf32>
    %261 = stablehlo.transpose %260, dims = [0, 2, 4, 3, 1] : (tensor<2x16x2x2x8xf32>) -> tensor<2x2x8x2x16xf32>
    %262 = stablehlo.dot_general %261, %104, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x8x2x16xf32>, tensor<2x16x2x8xf32>) -> tensor<2x2x2x16x16xf32>
    %263 = stablehlo.dot_general %261, %138, batching_dims = [0, 1] x [0, 1], contracting_dims = [3, 4] x [2, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x8x2x16xf32>, tensor<2x2x2x16x16xf32>) -> tensor<2x2x8x16xf32>
    %264 = stablehlo.transpose %263, dims = [0, 3, 1, 2] : (tensor<2x2x8x16xf32>) -> tensor<2x16x2x8xf32>
    %265 = stablehlo.broadcast_in_dim %141, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x16x1xf32>) -> tensor<2x2x2x16x16xf32>
    %266 = stablehlo.multiply %262, %265 : tensor<2x2x2x16x16xf32>
    %267 = stablehlo.multiply %266, %134 : tensor<2x2x2x16x16xf32>
    %cst_47 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %268 = stablehlo.reduce(%267 init: %cst_47) applies stablehlo.add across dimensions = [4] : (tensor<2x2x2x16x16xf32>, tensor<f32>) -> tensor<2x2x2x16xf32>
    %269 = stablehlo.reshape %268 : (tensor<2x2x2x16xf32>) -> tensor<2x2x2x16x1xf32>
    %270 = stablehlo.negate %269 : tensor<2x2x2x16x1xf32>
    %271 = stablehlo.broadcast_in_dim %136, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x16x1xf32>) -> tensor<2x2x2x16x16xf32>
    %272 = stablehlo.divide %262, %271 : tensor<2x2x2x16x16xf32>
    %cst_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %273 = stablehlo.reduce(%270 init: %cst_48) applies stablehlo.add across dimensions = [4] : (tensor<2x2x2x16x1xf32>, tensor<f32>) -> tensor<2x2x2x16xf32>
    %274 = stablehlo.broadcast_in_dim %273, dims = [0, 1, 2, 3] : (tensor<2x2x2x16xf32>) -> tensor<2x2x2x16x16xf32>
    %275 = stablehlo.add %272, %274 : tensor<2x2x2x16x16xf32>
    %276 = stablehlo.multiply %275, %134 : tensor<2x2x2x16x16xf32>
    %277 = call @_where_3(%112#1, %112#2, %276) : (tensor<2x2x2x16x16xi1>, tensor<2x2x2x16x16xf32>, tensor<2x2x2x16x16xf32>) -> tensor<2x2x2x16x16xf32>
    %cst_49 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %278 = stablehlo.broadcast_in_dim %cst_49, dims = [] : (tensor<f32>) -> tensor<2x2x2x16x16xf32>
    %279 = stablehlo.divide %277, %278 : tensor<2x2x2x16x16xf32>
    %280 = stablehlo.transpose %279, dims = [0, 1, 4, 3, 2] : (tensor<2x2x2x16x16xf32>) -> tensor<2x2x16x16x2xf32>
    %281 = stablehlo.dot_general %280, %102, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2x16x16x2xf32>, tensor<2x16x2x8xf32>) -> tensor<2x2x16x2x8xf32>
    %282 = stablehlo.transpose %281, dims = [0, 2, 1, 3, 4] : (tensor<2x2x16x2x8xf32>) -> tensor<2x16x2x2x8xf32>
    %283 = stablehlo.dot_general %280, %105, batching_dims = [0, 1] x [0, 2], contracting_dims = [3, 4] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x16x16x2xf32>, tensor<2x16x2x2x8xf32>) -> tensor<2x2x16x8xf32>
    %284 = stablehlo.transpose %283, dims = [0, 2, 1, 3] : (tensor<2x2x16x8xf32>) -> tensor<2x16x2x8xf32>
    %285 = stablehlo.reshape %282 : (tensor<2x16x2x2x8xf32>) -> tensor<2x16x4x8xf32>
    %286 = stablehlo.reshape %264 : (tensor<2x16x2x8xf32>) -> tensor<2x16x16xf32>
    %287 = stablehlo.dot_general %286, %22, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x16xf32>, tensor<2x16x32xf32>) -> tensor<16x32xf32>
    %288 = stablehlo.transpose %287, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
    %289 = stablehlo.dot_general %286, %arg11, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x16xf32>, tensor<32x16xf32>) -> tensor<2x16x32xf32>
    %290 = stablehlo.slice %284 [0:2, 0:16, 0:2, 0:4] : (tensor<2x16x2x8xf32>) -> tensor<2x16x2x4xf32>
    %291 = stablehlo.slice %284 [0:2, 0:16, 0:2, 4:8] : (tensor<2x16x2x8xf32>) -> tensor<2x16x2x4xf32>
    %292 = stablehlo.broadcast_in_dim %98, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x2x4xf32>
    %293 = stablehlo.multiply %291, %292 : tensor<2x16x2x4xf32>
    %294 = stablehlo.broadcast_in_dim %95, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x2x4xf32>
    %295 = stablehlo.multiply %291, %294 : tensor<2x16x2x4xf32>
    %296 = stablehlo.negate %290 : tensor<2x16x2x4xf32>
    %297 = stablehlo.broadcast_in_dim %91, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x2x4xf32>
    %298 = stablehlo.multiply %296, %297 : tensor<2x16x2x4xf32>
    %299 = stablehlo.add %295, %298 : tensor<2x16x2x4xf32>
    %300 = stablehlo.broadcast_in_dim %88, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x2x4xf32>
    %301 = stablehlo.multiply %290, %300 : tensor<2x16x2x4xf32>
    %302 = stablehlo.add %293, %301 : tensor<2x16x2x4xf32>
    %303 = stablehlo.concatenate %302, %299, dim = 3 : (tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>) -> tensor<2x16x2x8xf32>
    %304 = stablehlo.reshape %303 : (tensor<2x16x2x8xf32>) -> tensor<2x16x16xf32>
    %305 = stablehlo.dot_general %304, %22, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x16xf32>, tensor<2x16x32xf32>) -> tensor<16x32xf32>
    %306 = stablehlo.transpose %305, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
    %307 = stablehlo.dot_general %304, %arg8, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x16xf32>, tensor<32x16xf32>) -> tensor<2x16x32xf32>
    %308 = stablehlo.add %289, %307 : tensor<2x16x32xf32>
    %309 = stablehlo.slice %285 [0:2, 0:16, 0:4, 0:4] : (tensor<2x16x4x8xf32>) -> tensor<2x16x4x4xf32>
    %310 = stablehlo.slice %285 [0:2, 0:16, 0:4, 4:8] : (tensor<2x16x4x8xf32>) -> tensor<2x16x4x4xf32>
    %311 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x4x4xf32>
    %312 = stablehlo.multiply %310, %311 : tensor<2x16x4x4xf32>
    %313 = stablehlo.broadcast_in_dim %55, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x4x4xf32>
    %314 = stablehlo.multiply %310, %313 : tensor<2x16x4x4xf32>
    %315 = stablehlo.negate %309 : tensor<2x16x4x4xf32>
    %316 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x4x4xf32>
    %317 = stablehlo.multiply %315, %316 : tensor<2x16x4x4xf32>
    %318 = stablehlo.add %314, %317 : tensor<2x16x4x4xf32>
    %319 = stablehlo.broadcast_in_dim %48, dims = [0, 1, 2, 3] : (tensor<1x16x1x4xf32>) -> tensor<2x16x4x4xf32>
    %320 = stablehlo.multiply %309, %319 : tensor<2x16x4x4xf32>
    %321 = stablehlo.add %312, %320 : tensor<2x16x4x4xf32>
    %322 = stablehlo.concatenate %321, %318, dim = 3 : (tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>) -> tensor<2x16x4x8xf32>
    %323 = stablehlo.reshape %322 : (tensor<2x16x4x8xf32>) -> tensor<2x16x32xf32>
    %324 = stablehlo.dot_general %323, %22, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<2x16x32xf32>) -> tensor<32x32xf32>
    %325 = stablehlo.transpose %324, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %326 = stablehlo.dot_general %323, %arg10, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
    %327 = stablehlo.add %308, %326 : tensor<2x16x32xf32>
    %328 = stablehlo.multiply %19, %327 : tensor<2x16x32xf32>
    %cst_50 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %329 = stablehlo.reduce(%328 init: %cst_50) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %330 = stablehlo.reshape %329 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %331 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %332 = stablehlo.multiply %327, %331 : tensor<2x16x32xf32>
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %333 = stablehlo.reduce(%330 init: %cst_51) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %334 = stablehlo.multiply %6, %332 : tensor<2x16x32xf32>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %335 = stablehlo.reduce(%334 init: %cst_52) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %336 = stablehlo.reshape %335 : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %337 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %338 = stablehlo.multiply %332, %337 : tensor<2x16x32xf32>
    %339 = stablehlo.add %256, %338 : tensor<2x16x32xf32>
    %340 = stablehlo.multiply %336, %17 : tensor<2x16x1xf32>
    %cst_53 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %341 = stablehlo.broadcast_in_dim %cst_53, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %342 = stablehlo.divide %340, %341 : tensor<2x16x1xf32>
    %cst_54 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %343 = stablehlo.reduce(%342 init: %cst_54) applies stablehlo.add across dimensions = [2] : (tensor<2x16x1xf32>, tensor<f32>) -> tensor<2x16xf32>
    %344 = stablehlo.broadcast_in_dim %343, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x32xf32>
    %345 = stablehlo.multiply %6, %344 : tensor<2x16x32xf32>
    %346 = stablehlo.add %339, %345 : tensor<2x16x32xf32>
    %347 = stablehlo.multiply %344, %6 : tensor<2x16x32xf32>
    %348 = stablehlo.add %346, %347 : tensor<2x16x32xf32>
    %cst_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %349 = stablehlo.broadcast_in_dim %cst_55, dims = [] : (tensor<f32>) -> tensor<40x32xf32>
    %350 = "stablehlo.scatter"(%349, %5, %348) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %387 = stablehlo.add %arg14, %arg15 : tensor<f32>
      stablehlo.return %387 : tensor<f32>
    }) : (tensor<40x32xf32>, tensor<2x16x1xi32>, tensor<2x16x32xf32>) -> tensor<40x32xf32>
    %cst_56 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %351 = stablehlo.broadcast_in_dim %cst_56, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %352 = stablehlo.multiply %351, %333 : tensor<32xf32>
    %353 = stablehlo.subtract %arg0, %352 : tensor<32xf32>
    %cst_57 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %354 = stablehlo.broadcast_in_dim %cst_57, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %355 = stablehlo.multiply %354, %241 : tensor<32xf32>
    %356 = stablehlo.subtract %arg1, %355 : tensor<32xf32>
    %cst_58 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %357 = stablehlo.broadcast_in_dim %cst_58, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %358 = stablehlo.multiply %357, %208 : tensor<32xf32>
    %359 = stablehlo.subtract %arg2, %358 : tensor<32xf32>
    %cst_59 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %360 = stablehlo.broadcast_in_dim %cst_59, dims = [] : (tensor<f32>) -> tensor<32x40xf32>
    %361 = stablehlo.multiply %360, %201 : tensor<32x40xf32>
    %362 = stablehlo.subtract %arg3, %361 : tensor<32x40xf32>
    %cst_60 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %363 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<40x32xf32>
    %364 = stablehlo.multiply %363, %350 : tensor<40x32xf32>
    %365 = stablehlo.subtract %arg4, %364 : tensor<40x32xf32>
    %cst_61 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %366 = stablehlo.broadcast_in_dim %cst_61, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %367 = stablehlo.multiply %366, %224 : tensor<48x32xf32>
    %368 = stablehlo.subtract %arg5, %367 : tensor<48x32xf32>
    %cst_62 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %369 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<32x48xf32>
    %370 = stablehlo.multiply %369, %233 : tensor<32x48xf32>
    %371 = stablehlo.subtract %arg6, %370 : tensor<32x48xf32>
    %cst_63 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %372 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<32x48xf32>
    %373 = stablehlo.multiply %372, %229 : tensor<32x48xf32>
    %374 = stablehlo.subtract %arg7, %373 : tensor<32x48xf32>
    %cst_64 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %375 = stablehlo.broadcast_in_dim %cst_64, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %376 = stablehlo.multiply %375, %306 : tensor<32x16xf32>
    %377 = stablehlo.subtract %arg8, %376 : tensor<32x16xf32>
    %cst_65 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %378 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %379 = stablehlo.multiply %378, %258 : tensor<32x32xf32>
    %380 = stablehlo.subtract %arg9, %379 : tensor<32x32xf32>
    %cst_66 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %381 = stablehlo.broadcast_in_dim %cst_66, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %382 = stablehlo.multiply %381, %325 : tensor<32x32xf32>
    %383 = stablehlo.subtract %arg10, %382 : tensor<32x32xf32>
    %cst_67 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %384 = stablehlo.broadcast_in_dim %cst_67, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %385 = stablehlo.multiply %384, %288 : tensor<32x16xf32>
    %386 = stablehlo.subtract %arg11, %385 : tensor<32x16xf32>
    return %353, %356, %359, %362, %365, %368, %371, %374, %377, %380, %383, %386, %193 : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x40xf32>, tensor<40x32xf32>, tensor<48x32xf32>, tensor<32x48xf32>, tensor<32x48xf32>, tensor<32x16xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x16xf32>, tensor<f32>
  }
  func.func private @tril(%arg0: tensor<16x16xi1>) -> tensor<16x16xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<16x16xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x16xi32>
    %2 = stablehlo.add %0, %1 : tensor<16x16xi32>
    %3 = stablehlo.iota dim = 1 : tensor<16x16xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<16x16xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<16x16xi1>, tensor<16x16xi1>
    return %6 : tensor<16x16xi1>
  }
  func.func private @_where(%arg0: tensor<16x16xi1>, %arg1: tensor<2x2x2x16x16xf32>, %arg2: tensor<f32>) -> (tensor<2x2x2x16x16xf32>, tensor<2x2x2x16x16xi1>, tensor<2x2x2x16x16xf32>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [3, 4] : (tensor<16x16xi1>) -> tensor<2x2x2x16x16xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x2x2x16x16xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x2x2x16x16xi1>, tensor<2x2x2x16x16xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x2x16x16xf32>
    return %3, %1, %4 : tensor<2x2x2x16x16xf32>, tensor<2x2x2x16x16xi1>, tensor<2x2x2x16x16xf32>
  }
  func.func private @silu(%arg0: tensor<2x16x48xf32>) -> (tensor<2x16x48xf32>, tensor<2x16x48xf32>, tensor<2x16x48xf32>) {
    %0 = stablehlo.negate %arg0 : tensor<2x16x48xf32>
    %1 = stablehlo.exponential %0 : tensor<2x16x48xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x16x48xf32>
    %3 = stablehlo.add %2, %1 : tensor<2x16x48xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x16x48xf32>
    %5 = stablehlo.divide %4, %3 : tensor<2x16x48xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x16x48xf32>
    %7 = stablehlo.subtract %6, %5 : tensor<2x16x48xf32>
    %8 = stablehlo.multiply %5, %7 : tensor<2x16x48xf32>
    %9 = stablehlo.multiply %arg0, %5 : tensor<2x16x48xf32>
    return %9, %8, %5 : tensor<2x16x48xf32>, tensor<2x16x48xf32>, tensor<2x16x48xf32>
  }
  func.func private @log_softmax(%arg0: tensor<32x40xf32>) -> (tensor<32x40xf32>, tensor<32x40xf32>, tensor<32x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<32x40xf32>, tensor<f32>) -> tensor<32xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<32xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x40xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<32x40xf32>
    %6 = stablehlo.exponential %5 : tensor<32x40xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<32x40xf32>, tensor<f32>) -> tensor<32xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    %9 = stablehlo.log %8 : tensor<32x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x40xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<32x40xf32>
    return %11, %6, %8 : tensor<32x40xf32>, tensor<32x40xf32>, tensor<32x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<32x40xf32>, %arg1: tensor<32x1xi32>) -> (tensor<32x1xf32>, tensor<32x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<32x1xi32>, tensor<32x1xi32>) -> tensor<32x1xi1>
    %c_0 = stablehlo.constant dense<40> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<32x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<32x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<32x1xi1>, tensor<32x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<32x1xi32>) -> tensor<32x1x1xi32>
    %c_1 = stablehlo.constant dense<39> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<32x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<32x1x1xi32>, tensor<32x1x1xi32>) -> tensor<32x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<32x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<32x1x1xi32>, tensor<32x1x1xi32>) -> tensor<32x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<32x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [2] : (tensor<32x1x1xi1>, tensor<i1>) -> tensor<32x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<32x40xf32>, tensor<32x1x1xi32>) -> tensor<32x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<32x1xi1>, tensor<32x1xf32>
    return %15, %5 : tensor<32x1xf32>, tensor<32x1x1xi32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<32x1x1xi32>, %arg1: tensor<32x1xf32>) -> tensor<32x40xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x40xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<32x40xf32>, tensor<32x1x1xi32>, tensor<32x1xf32>) -> tensor<32x40xf32>
    return %1 : tensor<32x40xf32>
  }
  func.func private @log_softmax_1(%arg0: tensor<32x40xf32>, %arg1: tensor<32x1xf32>, %arg2: tensor<32x40xf32>) -> tensor<32x40xf32> {
    %0 = stablehlo.negate %arg2 : tensor<32x40xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<32x40xf32>, tensor<f32>) -> tensor<32xf32>
    %2 = stablehlo.reshape %1 : (tensor<32xf32>) -> tensor<32x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<32x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<32x1xf32>, tensor<f32>) -> tensor<32xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<32xf32>) -> tensor<32x40xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<32x40xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<32x40xf32>
    return %7 : tensor<32x40xf32>
  }
  func.func private @silu_2(%arg0: tensor<2x16x48xf32>, %arg1: tensor<2x16x48xf32>, %arg2: tensor<2x16x48xf32>, %arg3: tensor<2x16x48xf32>) -> tensor<2x16x48xf32> {
    %0 = stablehlo.multiply %arg2, %arg3 : tensor<2x16x48xf32>
    %1 = stablehlo.multiply %arg3, %arg1 : tensor<2x16x48xf32>
    %2 = stablehlo.multiply %0, %arg0 : tensor<2x16x48xf32>
    %3 = stablehlo.add %1, %2 : tensor<2x16x48xf32>
    return %3 : tensor<2x16x48xf32>
  }
  func.func private @_where_3(%arg0: tensor<2x2x2x16x16xi1>, %arg1: tensor<2x2x2x16x16xf32>, %arg2: tensor<2x2x2x16x16xf32>) -> tensor<2x2x2x16x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x2x16x16xf32>
    %1 = stablehlo.select %arg0, %arg2, %0 : tensor<2x2x2x16x16xi1>, tensor<2x2x2x16x16xf32>
    return %1 : tensor<2x2x2x16x16xf32>
  }
}
