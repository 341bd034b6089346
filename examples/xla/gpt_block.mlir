module @jit_gpt_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32xf32>, %arg1: tensor<128xf32>, %arg2: tensor<32xf32>, %arg3: tensor<32xf32>, %arg4: tensor<32xf32>, %arg5: tensor<16x32xf32>, %arg6: tensor<32xf32>, %arg7: tensor<32xf32>, %arg8: tensor<32xf32>, %arg9: tensor<40x32xf32>, %arg10: tensor<128x32xf32>, %arg11: tensor<32x32xf32>, %arg12: tensor<32x96xf32>, %arg13: tensor<32x128xf32>, %arg14: tensor<32xf32>, %arg15: tensor<128xf32>, %arg16: tensor<32xf32>, %arg17: tensor<32xf32>, %arg18: tensor<32xf32>, %arg19: tensor<16x32xf32>, %arg20: tensor<32xf32>, %arg21: tensor<32xf32>, %arg22: tensor<32xf32>, %arg23: tensor<40x32xf32>, %arg24: tensor<128x32xf32>, %arg25: tensor<32x32xf32>, %arg26: tensor<32x96xf32>, %arg27: tensor<32x128xf32>, %arg28: tensor<32xf32>, %arg29: tensor<128xf32>, %arg30: tensor<32xf32>, %arg31: tensor<32xf32>, %arg32: tensor<32xf32>, %arg33: tensor<16x32xf32>, %arg34: tensor<32xf32>, %arg35: tensor<32xf32>, %arg36: tensor<32xf32>, %arg37: tensor<40x32xf32>, %arg38: tensor<128x32xf32>, %arg39: tensor<32x32xf32>, %arg40: tensor<32x96xf32>, %arg41: tensor<32x128xf32>, %arg42: tensor<f32>, %arg43: tensor<2x16xi32>, %arg44: tensor<2x16xi32>) -> (tensor<32xf32> {jax.result_info = "result[0]['b_down']"}, tensor<128xf32> {jax.result_info = "result[0]['b_up']"}, tensor<32xf32> {jax.result_info = "result[0]['gain1']"}, tensor<32xf32> {jax.result_info = "result[0]['gain2']"}, tensor<32xf32> {jax.result_info = "result[0]['gain3']"}, tensor<16x32xf32> {jax.result_info = "result[0]['positions']"}, tensor<32xf32> {jax.result_info = "result[0]['shift1']"}, tensor<32xf32> {jax.result_info = "result[0]['shift2']"}, tensor<32xf32> {jax.result_info = "result[0]['shift3']"}, tensor<40x32xf32> {jax.result_info = "result[0]['tokens']"}, tensor<128x32xf32> {jax.result_info = "result[0]['w_down']"}, tensor<32x32xf32> {jax.result_info = "result[0]['w_out']"}, tensor<32x96xf32> {jax.result_info = "result[0]['w_qkv']"}, tensor<32x128xf32> {jax.result_info = "result[0]['w_up']"}, tensor<32xf32> {jax.result_info = "result[1]['b_down']"}, tensor<128xf32> {jax.result_info = "result[1]['b_up']"}, tensor<32xf32> {jax.result_info = "result[1]['gain1']"}, tensor<32xf32> {jax.result_info = "result[1]['gain2']"}, tensor<32xf32> {jax.result_info = "result[1]['gain3']"}, tensor<16x32xf32> {jax.result_info = "result[1]['positions']"}, tensor<32xf32> {jax.result_info = "result[1]['shift1']"}, tensor<32xf32> {jax.result_info = "result[1]['shift2']"}, tensor<32xf32> {jax.result_info = "result[1]['shift3']"}, tensor<40x32xf32> {jax.result_info = "result[1]['tokens']"}, tensor<128x32xf32> {jax.result_info = "result[1]['w_down']"}, tensor<32x32xf32> {jax.result_info = "result[1]['w_out']"}, tensor<32x96xf32> {jax.result_info = "result[1]['w_qkv']"}, tensor<32x128xf32> {jax.result_info = "result[1]['w_up']"}, tensor<32xf32> {jax.result_info = "result[2]['b_down']"}, tensor<128xf32> {jax.result_info = "result[2]['b_up']"}, tensor<32xf32> {jax.result_info = "result[2]['gain1']"}, tensor<32xf32> {jax.result_info = "result[2]['gain2']"}, tensor<32xf32> {jax.result_info = "result[2]['gain3']"}, tensor<16x32xf32> {jax.result_info = "result[2]['positions']"}, tensor<32xf32> {jax.result_info = "result[2]['shift1']"}, tensor<32xf32> {jax.result_info = "result[2]['shift2']"}, tensor<32xf32> {jax.result_info = "result[2]['shift3']"}, tensor<40x32xf32> {jax.result_info = "result[2]['tokens']"}, tensor<128x32xf32> {jax.result_info = "result[2]['w_down']"}, tensor<32x32xf32> {jax.result_info = "result[2]['w_out']"}, tensor<32x96xf32> {jax.result_info = "result[2]['w_qkv']"}, tensor<32x128xf32> {jax.result_info = "result[2]['w_up']"}, tensor<f32> {jax.result_info = "result[3]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x16xi32>
    %1 = stablehlo.compare LT, %arg43, %0, SIGNED : (tensor<2x16xi32>, tensor<2x16xi32>) -> tensor<2x16xi1>
    %c_0 = stablehlo.constant dense<40> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x16xi32>
    %3 = stablehlo.add %arg43, %2 : tensor<2x16xi32>
    %4 = stablehlo.select %1, %3, %arg43 : tensor<2x16xi1>, tensor<2x16xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x16xi32>) -> tensor<2x16x1xi32>
    %6 = "stablehlo.gather"(%arg9, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 32>}> : (tensor<40x32xf32>, tensor<2x16x1xi32>) -> tensor<2x16x32xf32>
    %7 = stablehlo.broadcast_in_dim %arg5, dims = [1, 2] : (tensor<16x32xf32>) -> tensor<1x16x32xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<1x16x32xf32>) -> tensor<2x16x32xf32>
    %9 = stablehlo.add %6, %8 : tensor<2x16x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %cst_1 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %13 = stablehlo.divide %11, %12 : tensor<2x16x1xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %15 = stablehlo.subtract %9, %14 : tensor<2x16x32xf32>
    %16 = stablehlo.multiply %15, %15 : tensor<2x16x32xf32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x16x32xf32>
    %18 = stablehlo.multiply %17, %15 : tensor<2x16x32xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %19 = stablehlo.reduce(%16 init: %cst_3) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %cst_4 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %22 = stablehlo.divide %20, %21 : tensor<2x16x1xf32>
    %23 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %24 = stablehlo.subtract %9, %23 : tensor<2x16x32xf32>
    %cst_5 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %26 = stablehlo.add %22, %25 : tensor<2x16x1xf32>
    %27 = stablehlo.rsqrt %26 : tensor<2x16x1xf32>
    %28 = stablehlo.divide %27, %26 : tensor<2x16x1xf32>
    %cst_6 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %30 = stablehlo.multiply %29, %28 : tensor<2x16x1xf32>
    %31 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %32 = stablehlo.multiply %24, %31 : tensor<2x16x32xf32>
    %33 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %35 = stablehlo.multiply %32, %34 : tensor<2x16x32xf32>
    %36 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %38 = stablehlo.add %35, %37 : tensor<2x16x32xf32>
    %39 = stablehlo.dot_general %38, %arg12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x96xf32>) -> tensor<2x16x96xf32>
    %40 = stablehlo.slice %39 [0:2, 0:16, 0:32] : (tensor<2x16x96xf32>) -> tensor<2x16x32xf32>
    %41 = stablehlo.slice %39 [0:2, 0:16, 32:64] : (tensor<2x16x96xf32>) -> tensor<2x16x32xf32>
    %42 = stablehlo.slice %39 [0:2, 0:16, 64:96] : (tensor<2x16x96xf32>) -> tensor<2x16x32xf32>
    %43 = stablehlo.reshape %40 : (tensor<2x16x32xf32>) -> tensor<2x16x2x16xf32>
    %44 = stablehlo.transpose %43, dims = [0, 2, 1, 3] : (tensor<2x16x2x16xf32>) -> tensor<2x2x16x16xf32>
    %45 = stablehlo.reshape %41 : (tensor<2x16x32xf32>) -> tensor<2x16x2x16xf32>
    %46 = stablehlo.transpose %45, dims = [0, 2, 1, 3] : (tensor<2x16x2x16xf32>) -> tensor<2x2x16x16xf32>
    %47 = stablehlo.reshape %42 : (tensor<2x16x32xf32>) -> tensor<2x16x2x16xf32>
    %48 = stablehlo.transpose %47, dims = [0, 2, 1, 3] : (tensor<2x16x2x16xf32>) -> tensor<2x2x16x16xf32>
    %49 = stablehlo.dot_general %44, %46, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    %cst_7 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x2x16x16xf32>
    %51 = stablehlo.divide %49, %50 : tensor<2x2x16x16xf32>
    %c_8 = stablehlo.constant dense<true> : tensor<i1>
    %52 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i1>) -> tensor<16x16xi1>
    %53 = call @tril(%52) : (tensor<16x16xi1>) -> tensor<16x16xi1>
    %cst_9 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %54:3 = call @_where(%53, %51, %cst_9) : (tensor<16x16xi1>, tensor<2x2x16x16xf32>, tensor<f32>) -> (tensor<2x2x16x16xf32>, tensor<2x2x16x16xi1>, tensor<2x2x16x16xf32>)
    %cst_10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %55 = stablehlo.reduce(%54#0 init: %cst_10) applies stablehlo.maximum across dimensions = [3] : (tensor<2x2x16x16xf32>, tensor<f32>) -> tensor<2x2x16xf32>
    %56 = stablehlo.reshape %55 : (tensor<2x2x16xf32>) -> tensor<2x2x16x1xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0, 1, 2, 3] : (tensor<2x2x16x1xf32>) -> tensor<2x2x16x16xf32>
    %58 = stablehlo.compare EQ, %54#0, %57, FLOAT : (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xi1>
    %59 = stablehlo.convert %58 : (tensor<2x2x16x16xi1>) -> tensor<2x2x16x16xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %60 = stablehlo.reduce(%59 init: %cst_11) applies stablehlo.add across dimensions = [3] : (tensor<2x2x16x16xf32>, tensor<f32>) -> tensor<2x2x16xf32>
    %cst_12 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<2x2x16xf32>
    %62 = stablehlo.maximum %61, %55 : tensor<2x2x16xf32>
    %63 = stablehlo.compare EQ, %55, %62, FLOAT : (tensor<2x2x16xf32>, tensor<2x2x16xf32>) -> tensor<2x2x16xi1>
    %cst_13 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<2x2x16xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %65 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<2x2x16xf32>
    %66 = stablehlo.select %63, %64, %65 : tensor<2x2x16xi1>, tensor<2x2x16xf32>
    %cst_15 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %67 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<2x2x16xf32>
    %68 = stablehlo.compare EQ, %67, %62, FLOAT : (tensor<2x2x16xf32>, tensor<2x2x16xf32>) -> tensor<2x2x16xi1>
    %cst_16 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %69 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<2x2x16xf32>
    %cst_17 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %70 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<2x2x16xf32>
    %71 = stablehlo.select %68, %69, %70 : tensor<2x2x16xi1>, tensor<2x2x16xf32>
    %72 = stablehlo.divide %66, %71 : tensor<2x2x16xf32>
    %73 = stablehlo.broadcast_in_dim %62, dims = [0, 1, 2] : (tensor<2x2x16xf32>) -> tensor<2x2x16x1xf32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [0, 1, 2, 3] : (tensor<2x2x16x1xf32>) -> tensor<2x2x16x16xf32>
    %75 = stablehlo.subtract %54#0, %74 : tensor<2x2x16x16xf32>
    %76 = stablehlo.exponential %75 : tensor<2x2x16x16xf32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %77 = stablehlo.reduce(%76 init: %cst_18) applies stablehlo.add across dimensions = [3] : (tensor<2x2x16x16xf32>, tensor<f32>) -> tensor<2x2x16xf32>
    %78 = stablehlo.broadcast_in_dim %77, dims = [0, 1, 2] : (tensor<2x2x16xf32>) -> tensor<2x2x16x1xf32>
    %79 = stablehlo.broadcast_in_dim %78, dims = [0, 1, 2, 3] : (tensor<2x2x16x1xf32>) -> tensor<2x2x16x16xf32>
    %80 = stablehlo.divide %76, %79 : tensor<2x2x16x16xf32>
    %81 = stablehlo.multiply %78, %78 : tensor<2x2x16x1xf32>
    %cst_19 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %82 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<2x2x16x1xf32>
    %83 = stablehlo.divide %82, %81 : tensor<2x2x16x1xf32>
    %84 = stablehlo.dot_general %80, %48, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    %85 = stablehlo.transpose %84, dims = [0, 2, 1, 3] : (tensor<2x2x16x16xf32>) -> tensor<2x16x2x16xf32>
    %86 = stablehlo.reshape %85 : (tensor<2x16x2x16xf32>) -> tensor<2x16x32xf32>
    %87 = stablehlo.dot_general %86, %arg11, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
    %88 = stablehlo.add %9, %87 : tensor<2x16x32xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %89 = stablehlo.reduce(%88 init: %cst_20) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %90 = stablehlo.broadcast_in_dim %89, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %cst_21 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %91 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %92 = stablehlo.divide %90, %91 : tensor<2x16x1xf32>
    %93 = stablehlo.broadcast_in_dim %92, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %94 = stablehlo.subtract %88, %93 : tensor<2x16x32xf32>
    %95 = stablehlo.multiply %94, %94 : tensor<2x16x32xf32>
    %cst_22 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %96 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<2x16x32xf32>
    %97 = stablehlo.multiply %96, %94 : tensor<2x16x32xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %98 = stablehlo.reduce(%95 init: %cst_23) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %99 = stablehlo.broadcast_in_dim %98, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %cst_24 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %100 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %101 = stablehlo.divide %99, %100 : tensor<2x16x1xf32>
    %102 = stablehlo.broadcast_in_dim %92, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %103 = stablehlo.subtract %88, %102 : tensor<2x16x32xf32>
    %cst_25 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %104 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %105 = stablehlo.add %101, %104 : tensor<2x16x1xf32>
    %106 = stablehlo.rsqrt %105 : tensor<2x16x1xf32>
    %107 = stablehlo.divide %106, %105 : tensor<2x16x1xf32>
    %cst_26 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %108 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %109 = stablehlo.multiply %108, %107 : tensor<2x16x1xf32>
    %110 = stablehlo.broadcast_in_dim %106, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %111 = stablehlo.multiply %103, %110 : tensor<2x16x32xf32>
    %112 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %113 = stablehlo.broadcast_in_dim %112, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %114 = stablehlo.multiply %111, %113 : tensor<2x16x32xf32>
    %115 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %116 = stablehlo.broadcast_in_dim %115, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %117 = stablehlo.add %114, %116 : tensor<2x16x32xf32>
    %118 = stablehlo.dot_general %117, %arg13, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x128xf32>) -> tensor<2x16x128xf32>
    %119 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<128xf32>) -> tensor<1x1x128xf32>
    %120 = stablehlo.broadcast_in_dim %119, dims = [0, 1, 2] : (tensor<1x1x128xf32>) -> tensor<2x16x128xf32>
    %121 = stablehlo.add %118, %120 : tensor<2x16x128xf32>
    %122 = stablehlo.multiply %121, %121 : tensor<2x16x128xf32>
    %123 = stablehlo.multiply %122, %121 : tensor<2x16x128xf32>
    %124 = stablehlo.multiply %121, %121 : tensor<2x16x128xf32>
    %cst_27 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %125 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<2x16x128xf32>
    %126 = stablehlo.multiply %125, %124 : tensor<2x16x128xf32>
    %cst_28 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %127 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<2x16x128xf32>
    %128 = stablehlo.multiply %127, %123 : tensor<2x16x128xf32>
    %129 = stablehlo.add %121, %128 : tensor<2x16x128xf32>
    %cst_29 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %130 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<2x16x128xf32>
    %131 = stablehlo.multiply %130, %129 : tensor<2x16x128xf32>
    %132 = stablehlo.tanh %131 : tensor<2x16x128xf32>
    %cst_30 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %133 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<2x16x128xf32>
    %134 = stablehlo.subtract %133, %132 : tensor<2x16x128xf32>
    %cst_31 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %135 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<2x16x128xf32>
    %136 = stablehlo.add %135, %132 : tensor<2x16x128xf32>
    %cst_32 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %137 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<2x16x128xf32>
    %138 = stablehlo.multiply %137, %136 : tensor<2x16x128xf32>
    %139 = stablehlo.multiply %121, %138 : tensor<2x16x128xf32>
    %140 = stablehlo.dot_general %139, %arg10, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x128xf32>, tensor<128x32xf32>) -> tensor<2x16x32xf32>
    %141 = stablehlo.add %88, %140 : tensor<2x16x32xf32>
    %142 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %143 = stablehlo.broadcast_in_dim %142, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %144 = stablehlo.add %141, %143 : tensor<2x16x32xf32>
    %cst_33 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %145 = stablehlo.reduce(%144 init: %cst_33) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %146 = stablehlo.broadcast_in_dim %145, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %cst_34 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %147 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %148 = stablehlo.divide %146, %147 : tensor<2x16x1xf32>
    %149 = stablehlo.broadcast_in_dim %148, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %150 = stablehlo.subtract %144, %149 : tensor<2x16x32xf32>
    %151 = stablehlo.multiply %150, %150 : tensor<2x16x32xf32>
    %cst_35 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %152 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<2x16x32xf32>
    %153 = stablehlo.multiply %152, %150 : tensor<2x16x32xf32>
    %cst_36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %154 = stablehlo.reduce(%151 init: %cst_36) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %155 = stablehlo.broadcast_in_dim %154, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %cst_37 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %156 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %157 = stablehlo.divide %155, %156 : tensor<2x16x1xf32>
    %158 = stablehlo.broadcast_in_dim %148, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %159 = stablehlo.subtract %144, %158 : tensor<2x16x32xf32>
    %cst_38 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %160 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %161 = stablehlo.add %157, %160 : tensor<2x16x1xf32>
    %162 = stablehlo.rsqrt %161 : tensor<2x16x1xf32>
    %163 = stablehlo.divide %162, %161 : tensor<2x16x1xf32>
    %cst_39 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %164 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %165 = stablehlo.multiply %164, %163 : tensor<2x16x1xf32>
    %166 = stablehlo.broadcast_in_dim %162, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %167 = stablehlo.multiply %159, %166 : tensor<2x16x32xf32>
    %168 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %169 = stablehlo.broadcast_in_dim %168, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %170 = stablehlo.multiply %167, %169 : tensor<2x16x32xf32>
    %171 = stablehlo.broadcast_in_dim %arg8, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %172 = stablehlo.broadcast_in_dim %171, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %173 = stablehlo.add %170, %172 : tensor<2x16x32xf32>
    %174 = stablehlo.transpose %arg9, dims = [1, 0] : (tensor<40x32xf32>) -> tensor<32x40xf32>
    %175 = stablehlo.dot_general %173, %174, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x40xf32>) -> tensor<2x16x40xf32>
    %176 = stablehlo.reshape %175 : (tensor<2x16x40xf32>) -> tensor<32x40xf32>
    %177 = stablehlo.reshape %arg44 : (tensor<2x16xi32>) -> tensor<32xi32>
    %178:3 = call @log_softmax(%176) : (tensor<32x40xf32>) -> (tensor<32x40xf32>, tensor<32x40xf32>, tensor<32x1xf32>)
    %179 = stablehlo.broadcast_in_dim %177, dims = [0] : (tensor<32xi32>) -> tensor<32x1xi32>
    %180:2 = call @take_along_axis(%178#0, %179) : (tensor<32x40xf32>, tensor<32x1xi32>) -> (tensor<32x1xf32>, tensor<32x1x1xi32>)
    %cst_40 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %181 = stablehlo.reduce(%180#0 init: %cst_40) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_41 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %182 = stablehlo.divide %181, %cst_41 : tensor<f32>
    %183 = stablehlo.negate %182 : tensor<f32>
    %cst_42 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %184 = stablehlo.negate %cst_42 : tensor<f32>
    %cst_43 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %185 = stablehlo.divide %184, %cst_43 : tensor<f32>
    %186 = stablehlo.broadcast_in_dim %185, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %187 = call @take_along_axis_0(%180#1, %186) : (tensor<32x1x1xi32>, tensor<32x1xf32>) -> tensor<32x40xf32>
    %188 = call @log_softmax_1(%178#1, %178#2, %187) : (tensor<32x40xf32>, tensor<32x1xf32>, tensor<32x40xf32>) -> tensor<32x40xf32>
    %189 = stablehlo.reshape %188 : (tensor<32x40xf32>) -> tensor<2x16x40xf32>
    %190 = stablehlo.dot_general %189, %173, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x40xf32>, tensor<2x16x32xf32>) -> tensor<40x32xf32>
    %191 = stablehlo.transpose %190, dims = [1, 0] : (tensor<40x32xf32>) -> tensor<32x40xf32>
    %192 = stablehlo.dot_general %189, %174, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x40xf32>, tensor<32x40xf32>) -> tensor<2x16x32xf32>
    %193 = stablehlo.transpose %191, dims = [1, 0] : (tensor<32x40xf32>) -> tensor<40x32xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %194 = stablehlo.reduce(%192 init: %cst_44) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %195 = stablehlo.reshape %194 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %cst_45 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %196 = stablehlo.reduce(%195 init: %cst_45) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %197 = stablehlo.multiply %167, %192 : tensor<2x16x32xf32>
    %cst_46 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %198 = stablehlo.reduce(%197 init: %cst_46) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %199 = stablehlo.reshape %198 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %200 = stablehlo.broadcast_in_dim %168, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %201 = stablehlo.multiply %192, %200 : tensor<2x16x32xf32>
    %cst_47 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %202 = stablehlo.reduce(%199 init: %cst_47) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %203 = stablehlo.multiply %159, %201 : tensor<2x16x32xf32>
    %cst_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %204 = stablehlo.reduce(%203 init: %cst_48) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %205 = stablehlo.reshape %204 : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %206 = stablehlo.broadcast_in_dim %162, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %207 = stablehlo.multiply %201, %206 : tensor<2x16x32xf32>
    %208 = stablehlo.multiply %205, %165 : tensor<2x16x1xf32>
    %209 = stablehlo.negate %207 : tensor<2x16x32xf32>
    %cst_49 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %210 = stablehlo.reduce(%209 init: %cst_49) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %211 = stablehlo.reshape %210 : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %cst_50 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %212 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %213 = stablehlo.divide %208, %212 : tensor<2x16x1xf32>
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %214 = stablehlo.reduce(%213 init: %cst_51) applies stablehlo.add across dimensions = [2] : (tensor<2x16x1xf32>, tensor<f32>) -> tensor<2x16xf32>
    %215 = stablehlo.broadcast_in_dim %214, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x32xf32>
    %216 = stablehlo.multiply %215, %153 : tensor<2x16x32xf32>
    %217 = stablehlo.negate %216 : tensor<2x16x32xf32>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %218 = stablehlo.reduce(%217 init: %cst_52) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %219 = stablehlo.reshape %218 : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %220 = stablehlo.add %207, %216 : tensor<2x16x32xf32>
    %221 = stablehlo.add %211, %219 : tensor<2x16x1xf32>
    %cst_53 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %222 = stablehlo.broadcast_in_dim %cst_53, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %223 = stablehlo.divide %221, %222 : tensor<2x16x1xf32>
    %cst_54 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %224 = stablehlo.reduce(%223 init: %cst_54) applies stablehlo.add across dimensions = [2] : (tensor<2x16x1xf32>, tensor<f32>) -> tensor<2x16xf32>
    %225 = stablehlo.broadcast_in_dim %224, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x32xf32>
    %226 = stablehlo.add %220, %225 : tensor<2x16x32xf32>
    %cst_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %227 = stablehlo.reduce(%226 init: %cst_55) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %228 = stablehlo.reshape %227 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %cst_56 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %229 = stablehlo.reduce(%228 init: %cst_56) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %230 = stablehlo.dot_general %226, %139, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<2x16x128xf32>) -> tensor<32x128xf32>
    %231 = stablehlo.transpose %230, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %232 = stablehlo.dot_general %226, %arg10, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<128x32xf32>) -> tensor<2x16x128xf32>
    %233 = stablehlo.multiply %121, %232 : tensor<2x16x128xf32>
    %234 = stablehlo.multiply %232, %138 : tensor<2x16x128xf32>
    %cst_57 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %235 = stablehlo.broadcast_in_dim %cst_57, dims = [] : (tensor<f32>) -> tensor<2x16x128xf32>
    %236 = stablehlo.multiply %235, %233 : tensor<2x16x128xf32>
    %237 = stablehlo.multiply %236, %134 : tensor<2x16x128xf32>
    %238 = stablehlo.multiply %237, %132 : tensor<2x16x128xf32>
    %239 = stablehlo.add %237, %238 : tensor<2x16x128xf32>
    %cst_58 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %240 = stablehlo.broadcast_in_dim %cst_58, dims = [] : (tensor<f32>) -> tensor<2x16x128xf32>
    %241 = stablehlo.multiply %240, %239 : tensor<2x16x128xf32>
    %242 = stablehlo.add %234, %241 : tensor<2x16x128xf32>
    %cst_59 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %243 = stablehlo.broadcast_in_dim %cst_59, dims = [] : (tensor<f32>) -> tensor<2x16x128xf32>
    %244 = stablehlo.multiply %243, %241 : tensor<2x16x128xf32>
    %245 = stablehlo.multiply %244, %126 : tensor<2x16x128xf32>
    %246 = stablehlo.add %242, %245 : tensor<2x16x128xf32>
    %cst_60 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %247 = stablehlo.reduce(%246 init: %cst_60) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x16x128xf32>, tensor<f32>) -> tensor<128xf32>
    %248 = stablehlo.reshape %247 : (tensor<128xf32>) -> tensor<1x1x128xf32>
    %cst_61 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %249 = stablehlo.reduce(%248 init: %cst_61) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x128xf32>, tensor<f32>) -> tensor<128xf32>
    %250 = stablehlo.dot_general %246, %117, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x128xf32>, tensor<2x16x32xf32>) -> tensor<128x32xf32>
    %251 = stablehlo.transpose %250, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %252 = stablehlo.dot_general %246, %arg13, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x128xf32>, tensor<32x128xf32>) -> tensor<2x16x32xf32>
    %cst_62 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %253 = stablehlo.reduce(%252 init: %cst_62) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %254 = stablehlo.reshape %253 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %cst_63 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %255 = stablehlo.reduce(%254 init: %cst_63) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %256 = stablehlo.multiply %111, %252 : tensor<2x16x32xf32>
    %cst_64 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %257 = stablehlo.reduce(%256 init: %cst_64) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %258 = stablehlo.reshape %257 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %259 = stablehlo.broadcast_in_dim %112, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %260 = stablehlo.multiply %252, %259 : tensor<2x16x32xf32>
    %cst_65 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %261 = stablehlo.reduce(%258 init: %cst_65) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %262 = stablehlo.multiply %103, %260 : tensor<2x16x32xf32>
    %cst_66 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %263 = stablehlo.reduce(%262 init: %cst_66) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %264 = stablehlo.reshape %263 : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %265 = stablehlo.broadcast_in_dim %106, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %266 = stablehlo.multiply %260, %265 : tensor<2x16x32xf32>
    %267 = stablehlo.multiply %264, %109 : tensor<2x16x1xf32>
    %268 = stablehlo.negate %266 : tensor<2x16x32xf32>
    %cst_67 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %269 = stablehlo.reduce(%268 init: %cst_67) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %270 = stablehlo.reshape %269 : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %271 = stablehlo.add %226, %266 : tensor<2x16x32xf32>
    %cst_68 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %272 = stablehlo.broadcast_in_dim %cst_68, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %273 = stablehlo.divide %267, %272 : tensor<2x16x1xf32>
    %cst_69 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %274 = stablehlo.reduce(%273 init: %cst_69) applies stablehlo.add across dimensions = [2] : (tensor<2x16x1xf32>, tensor<f32>) -> tensor<2x16xf32>
    %275 = stablehlo.broadcast_in_dim %274, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x32xf32>
    %276 = stablehlo.multiply %275, %97 : tensor<2x16x32xf32>
    %277 = stablehlo.negate %276 : tensor<2x16x32xf32>
    %cst_70 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %278 = stablehlo.reduce(%277 init: %cst_70) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %279 = stablehlo.reshape %278 : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %280 = stablehlo.add %271, %276 : tensor<2x16x32xf32>
    %281 = stablehlo.add %270, %279 : tensor<2x16x1xf32>
    %cst_71 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %282 = stablehlo.broadcast_in_dim %cst_71, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %283 = stablehlo.divide %281, %282 : tensor<2x16x1xf32>
    %cst_72 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %284 = stablehlo.reduce(%283 init: %cst_72) applies stablehlo.add across dimensions = [2] : (tensor<2x16x1xf32>, tensor<f32>) -> tensor<2x16xf32>
    %285 = stablehlo.broadcast_in_dim %284, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x32xf32>
    %286 = stablehlo.add %280, %285 : tensor<2x16x32xf32>
    %287 = stablehlo.dot_general %286, %86, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<2x16x32xf32>) -> tensor<32x32xf32>
    %288 = stablehlo.transpose %287, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %289 = stablehlo.dot_general %286, %arg11, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
    %290 = stablehlo.reshape %289 : (tensor<2x16x32xf32>) -> tensor<2x16x2x16xf32>
    %291 = stablehlo.transpose %290, dims = [0, 2, 1, 3] : (tensor<2x16x2x16xf32>) -> tensor<2x2x16x16xf32>
    %292 = stablehlo.dot_general %291, %80, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    %293 = stablehlo.transpose %292, dims = [0, 1, 3, 2] : (tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    %294 = stablehlo.dot_general %291, %48, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    %295 = stablehlo.broadcast_in_dim %83, dims = [0, 1, 2, 3] : (tensor<2x2x16x1xf32>) -> tensor<2x2x16x16xf32>
    %296 = stablehlo.multiply %294, %295 : tensor<2x2x16x16xf32>
    %297 = stablehlo.multiply %296, %76 : tensor<2x2x16x16xf32>
    %cst_73 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %298 = stablehlo.reduce(%297 init: %cst_73) applies stablehlo.add across dimensions = [3] : (tensor<2x2x16x16xf32>, tensor<f32>) -> tensor<2x2x16xf32>
    %299 = stablehlo.reshape %298 : (tensor<2x2x16xf32>) -> tensor<2x2x16x1xf32>
    %300 = stablehlo.negate %299 : tensor<2x2x16x1xf32>
    %301 = stablehlo.broadcast_in_dim %78, dims = [0, 1, 2, 3] : (tensor<2x2x16x1xf32>) -> tensor<2x2x16x16xf32>
    %302 = stablehlo.divide %294, %301 : tensor<2x2x16x16xf32>
    %cst_74 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %303 = stablehlo.reduce(%300 init: %cst_74) applies stablehlo.add across dimensions = [3] : (tensor<2x2x16x1xf32>, tensor<f32>) -> tensor<2x2x16xf32>
    %304 = stablehlo.broadcast_in_dim %303, dims = [0, 1, 2] : (tensor<2x2x16xf32>) -> tensor<2x2x16x16xf32>
    %305 = stablehlo.add %302, %304 : tensor<2x2x16x16xf32>
    %306 = stablehlo.multiply %305, %76 : tensor<2x2x16x16xf32>
    %307 = call @_where_2(%54#1, %54#2, %306) : (tensor<2x2x16x16xi1>, tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    %cst_75 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %308 = stablehlo.broadcast_in_dim %cst_75, dims = [] : (tensor<f32>) -> tensor<2x2x16x16xf32>
    %309 = stablehlo.divide %307, %308 : tensor<2x2x16x16xf32>
    %310 = stablehlo.dot_general %309, %44, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    %311 = stablehlo.dot_general %309, %46, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x2x16x16xf32>, tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32>
    %312 = stablehlo.transpose %293, dims = [0, 2, 1, 3] : (tensor<2x2x16x16xf32>) -> tensor<2x16x2x16xf32>
    %313 = stablehlo.reshape %312 : (tensor<2x16x2x16xf32>) -> tensor<2x16x32xf32>
    %314 = stablehlo.transpose %310, dims = [0, 2, 1, 3] : (tensor<2x2x16x16xf32>) -> tensor<2x16x2x16xf32>
    %315 = stablehlo.reshape %314 : (tensor<2x16x2x16xf32>) -> tensor<2x16x32xf32>
    %316 = stablehlo.transpose %311, dims = [0, 2, 1, 3] : (tensor<2x2x16x16xf32>) -> tensor<2x16x2x16xf32>
    %317 = stablehlo.reshape %316 : (tensor<2x16x2x16xf32>) -> tensor<2x16x32xf32>
    %318 = stablehlo.concatenate %317, %315, %313, dim = 2 : (tensor<2x16x32xf32>, tensor<2x16x32xf32>, tensor<2x16x32xf32>) -> tensor<2x16x96xf32>
    %319 = stablehlo.dot_general %318, %38, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x96xf32>, tensor<2x16x32xf32>) -> tensor<96x32xf32>
    %320 = stablehlo.transpose %319, dims = [1, 0] : (tensor<96x32xf32>) -> tensor<32x96xf32>
    %321 = stablehlo.dot_general %318, %arg12, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x16x96xf32>, tensor<32x96xf32>) -> tensor<2x16x32xf32>
    %cst_76 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %322 = stablehlo.reduce(%321 init: %cst_76) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %323 = stablehlo.reshape %322 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %cst_77 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %324 = stablehlo.reduce(%323 init: %cst_77) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %325 = stablehlo.multiply %32, %321 : tensor<2x16x32xf32>
    %cst_78 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %326 = stablehlo.reduce(%325 init: %cst_78) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %327 = stablehlo.reshape %326 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %328 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x16x32xf32>
    %329 = stablehlo.multiply %321, %328 : tensor<2x16x32xf32>
    %cst_79 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %330 = stablehlo.reduce(%327 init: %cst_79) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %331 = stablehlo.multiply %24, %329 : tensor<2x16x32xf32>
    %cst_80 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %332 = stablehlo.reduce(%331 init: %cst_80) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %333 = stablehlo.reshape %332 : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %334 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<2x16x1xf32>) -> tensor<2x16x32xf32>
    %335 = stablehlo.multiply %329, %334 : tensor<2x16x32xf32>
    %336 = stablehlo.multiply %333, %30 : tensor<2x16x1xf32>
    %337 = stablehlo.negate %335 : tensor<2x16x32xf32>
    %cst_81 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %338 = stablehlo.reduce(%337 init: %cst_81) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %339 = stablehlo.reshape %338 : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %340 = stablehlo.add %286, %335 : tensor<2x16x32xf32>
    %cst_82 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %341 = stablehlo.broadcast_in_dim %cst_82, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %342 = stablehlo.divide %336, %341 : tensor<2x16x1xf32>
    %cst_83 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %343 = stablehlo.reduce(%342 init: %cst_83) applies stablehlo.add across dimensions = [2] : (tensor<2x16x1xf32>, tensor<f32>) -> tensor<2x16xf32>
    %344 = stablehlo.broadcast_in_dim %343, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x32xf32>
    %345 = stablehlo.multiply %344, %18 : tensor<2x16x32xf32>
    %346 = stablehlo.negate %345 : tensor<2x16x32xf32>
    %cst_84 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %347 = stablehlo.reduce(%346 init: %cst_84) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
    %348 = stablehlo.reshape %347 : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %349 = stablehlo.add %340, %345 : tensor<2x16x32xf32>
    %350 = stablehlo.add %339, %348 : tensor<2x16x1xf32>
    %cst_85 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %351 = stablehlo.broadcast_in_dim %cst_85, dims = [] : (tensor<f32>) -> tensor<2x16x1xf32>
    %352 = stablehlo.divide %350, %351 : tensor<2x16x1xf32>
    %cst_86 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %353 = stablehlo.reduce(%352 init: %cst_86) applies stablehlo.add across dimensions = [2] : (tensor<2x16x1xf32>, tensor<f32>) -> tensor<2x16xf32>
    %354 = stablehlo.broadcast_in_dim %353, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x32xf32>
    %355 = stablehlo.add %349, %354 : tensor<2x16x32xf32>
    %cst_87 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %356 = stablehlo.reduce(%355 init: %cst_87) applies stablehlo.add across dimensions = [0] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %357 = stablehlo.reshape %356 : (tensor<16x32xf32>) -> tensor<1x16x32xf32>
    %cst_88 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %358 = stablehlo.reduce(%357 init: %cst_88) applies stablehlo.add across dimensions = [0] : (tensor<1x16x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %cst_89 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %359 = stablehlo.broadcast_in_dim %cst_89, dims = [] : (tensor<f32>) -> tensor<40x32xf32>
    %360 = "stablehlo.scatter"(%359, %5, %355) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg45: tensor<f32>, %arg46: tensor<f32>):
      %621 = stablehlo.add %arg45, %arg46 : tensor<f32>
      stablehlo.return %621 : tensor<f32>
    }) : (tensor<40x32xf32>, tensor<2x16x1xi32>, tensor<2x16x32xf32>) -> tensor<40x32xf32>
    %361 = stablehlo.add %193, %360 : tensor<40x32xf32>
    %cst_90 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %362 = stablehlo.broadcast_in_dim %cst_90, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %363 = stablehlo.multiply %362, %arg14 : tensor<32xf32>
    %cst_91 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %364 = stablehlo.broadcast_in_dim %cst_91, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %365 = stablehlo.multiply %364, %229 : tensor<32xf32>
    %366 = stablehlo.add %363, %365 : tensor<32xf32>
    %cst_92 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %367 = stablehlo.broadcast_in_dim %cst_92, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %368 = stablehlo.multiply %367, %arg15 : tensor<128xf32>
    %cst_93 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %369 = stablehlo.broadcast_in_dim %cst_93, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %370 = stablehlo.multiply %369, %249 : tensor<128xf32>
    %371 = stablehlo.add %368, %370 : tensor<128xf32>
    %cst_94 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %372 = stablehlo.broadcast_in_dim %cst_94, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %373 = stablehlo.multiply %372, %arg16 : tensor<32xf32>
    %cst_95 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %374 = stablehlo.broadcast_in_dim %cst_95, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %375 = stablehlo.multiply %374, %330 : tensor<32xf32>
    %376 = stablehlo.add %373, %375 : tensor<32xf32>
    %cst_96 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %377 = stablehlo.broadcast_in_dim %cst_96, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %378 = stablehlo.multiply %377, %arg17 : tensor<32xf32>
    %cst_97 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %379 = stablehlo.broadcast_in_dim %cst_97, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %380 = stablehlo.multiply %379, %261 : tensor<32xf32>
    %381 = stablehlo.add %378, %380 : tensor<32xf32>
    %cst_98 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %382 = stablehlo.broadcast_in_dim %cst_98, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %383 = stablehlo.multiply %382, %arg18 : tensor<32xf32>
    %cst_99 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %384 = stablehlo.broadcast_in_dim %cst_99, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %385 = stablehlo.multiply %384, %202 : tensor<32xf32>
    %386 = stablehlo.add %383, %385 : tensor<32xf32>
    %cst_100 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %387 = stablehlo.broadcast_in_dim %cst_100, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %388 = stablehlo.multiply %387, %arg19 : tensor<16x32xf32>
    %cst_101 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %389 = stablehlo.broadcast_in_dim %cst_101, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %390 = stablehlo.multiply %389, %358 : tensor<16x32xf32>
    %391 = stablehlo.add %388, %390 : tensor<16x32xf32>
    %cst_102 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %392 = stablehlo.broadcast_in_dim %cst_102, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %393 = stablehlo.multiply %392, %arg20 : tensor<32xf32>
    %cst_103 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %394 = stablehlo.broadcast_in_dim %cst_103, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %395 = stablehlo.multiply %394, %324 : tensor<32xf32>
    %396 = stablehlo.add %393, %395 : tensor<32xf32>
    %cst_104 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %397 = stablehlo.broadcast_in_dim %cst_104, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %398 = stablehlo.multiply %397, %arg21 : tensor<32xf32>
    %cst_105 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %399 = stablehlo.broadcast_in_dim %cst_105, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %400 = stablehlo.multiply %399, %255 : tensor<32xf32>
    %401 = stablehlo.add %398, %400 : tensor<32xf32>
    %cst_106 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %402 = stablehlo.broadcast_in_dim %cst_106, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %403 = stablehlo.multiply %402, %arg22 : tensor<32xf32>
    %cst_107 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %404 = stablehlo.broadcast_in_dim %cst_107, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %405 = stablehlo.multiply %404, %196 : tensor<32xf32>
    %406 = stablehlo.add %403, %405 : tensor<32xf32>
    %cst_108 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %407 = stablehlo.broadcast_in_dim %cst_108, dims = [] : (tensor<f32>) -> tensor<40x32xf32>
    %408 = stablehlo.multiply %407, %arg23 : tensor<40x32xf32>
    %cst_109 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %409 = stablehlo.broadcast_in_dim %cst_109, dims = [] : (tensor<f32>) -> tensor<40x32xf32>
    %410 = stablehlo.multiply %409, %361 : tensor<40x32xf32>
    %411 = stablehlo.add %408, %410 : tensor<40x32xf32>
    %cst_110 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %412 = stablehlo.broadcast_in_dim %cst_110, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %413 = stablehlo.multiply %412, %arg24 : tensor<128x32xf32>
    %cst_111 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %414 = stablehlo.broadcast_in_dim %cst_111, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %415 = stablehlo.multiply %414, %231 : tensor<128x32xf32>
    %416 = stablehlo.add %413, %415 : tensor<128x32xf32>
    %cst_112 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %417 = stablehlo.broadcast_in_dim %cst_112, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %418 = stablehlo.multiply %417, %arg25 : tensor<32x32xf32>
    %cst_113 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %419 = stablehlo.broadcast_in_dim %cst_113, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %420 = stablehlo.multiply %419, %288 : tensor<32x32xf32>
    %421 = stablehlo.add %418, %420 : tensor<32x32xf32>
    %cst_114 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %422 = stablehlo.broadcast_in_dim %cst_114, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %423 = stablehlo.multiply %422, %arg26 : tensor<32x96xf32>
    %cst_115 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %424 = stablehlo.broadcast_in_dim %cst_115, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %425 = stablehlo.multiply %424, %320 : tensor<32x96xf32>
    %426 = stablehlo.add %423, %425 : tensor<32x96xf32>
    %cst_116 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %427 = stablehlo.broadcast_in_dim %cst_116, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %428 = stablehlo.multiply %427, %arg27 : tensor<32x128xf32>
    %cst_117 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %429 = stablehlo.broadcast_in_dim %cst_117, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %430 = stablehlo.multiply %429, %251 : tensor<32x128xf32>
    %431 = stablehlo.add %428, %430 : tensor<32x128xf32>
    %cst_118 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %432 = stablehlo.broadcast_in_dim %cst_118, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %433 = stablehlo.multiply %432, %arg28 : tensor<32xf32>
    %cst_119 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %434 = stablehlo.broadcast_in_dim %cst_119, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %435 = stablehlo.multiply %434, %229 : tensor<32xf32>
    %436 = stablehlo.multiply %435, %229 : tensor<32xf32>
    %437 = stablehlo.add %433, %436 : tensor<32xf32>
    %cst_120 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %438 = stablehlo.broadcast_in_dim %cst_120, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %439 = stablehlo.multiply %438, %arg29 : tensor<128xf32>
    %cst_121 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %440 = stablehlo.broadcast_in_dim %cst_121, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %441 = stablehlo.multiply %440, %249 : tensor<128xf32>
    %442 = stablehlo.multiply %441, %249 : tensor<128xf32>
    %443 = stablehlo.add %439, %442 : tensor<128xf32>
    %cst_122 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %444 = stablehlo.broadcast_in_dim %cst_122, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %445 = stablehlo.multiply %444, %arg30 : tensor<32xf32>
    %cst_123 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %446 = stablehlo.broadcast_in_dim %cst_123, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %447 = stablehlo.multiply %446, %330 : tensor<32xf32>
    %448 = stablehlo.multiply %447, %330 : tensor<32xf32>
    %449 = stablehlo.add %445, %448 : tensor<32xf32>
    %cst_124 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %450 = stablehlo.broadcast_in_dim %cst_124, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %451 = stablehlo.multiply %450, %arg31 : tensor<32xf32>
    %cst_125 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %452 = stablehlo.broadcast_in_dim %cst_125, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %453 = stablehlo.multiply %452, %261 : tensor<32xf32>
    %454 = stablehlo.multiply %453, %261 : tensor<32xf32>
    %455 = stablehlo.add %451, %454 : tensor<32xf32>
    %cst_126 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %456 = stablehlo.broadcast_in_dim %cst_126, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %457 = stablehlo.multiply %456, %arg32 : tensor<32xf32>
    %cst_127 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %458 = stablehlo.broadcast_in_dim %cst_127, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %459 = stablehlo.multiply %458, %202 : tensor<32xf32>
    %460 = stablehlo.multiply %459, %202 : tensor<32xf32>
    %461 = stablehlo.add %457, %460 : tensor<32xf32>
    %cst_128 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %462 = stablehlo.broadcast_in_dim %cst_128, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %463 = stablehlo.multiply %462, %arg33 : tensor<16x32xf32>
    %cst_129 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %464 = stablehlo.broadcast_in_dim %cst_129, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %465 = stablehlo.multiply %464, %358 : tensor<16x32xf32>
    %466 = stablehlo.multiply %465, %358 : tensor<16x32xf32>
    %467 = stablehlo.add %463, %466 : tensor<16x32xf32>
    %cst_130 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %468 = stablehlo.broadcast_in_dim %cst_130, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %469 = stablehlo.multiply %468, %arg34 : tensor<32xf32>
    %cst_131 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %470 = stablehlo.broadcast_in_dim %cst_131, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %471 = stablehlo.multiply %470, %324 : tensor<32xf32>
    %472 = stablehlo.multiply %471, %324 : tensor<32xf32>
    %473 = stablehlo.add %469, %472 : tensor<32xf32>
    %cst_132 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %474 = stablehlo.broadcast_in_dim %cst_132, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %475 = stablehlo.multiply %474, %arg35 : tensor<32xf32>
    %cst_133 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %476 = stablehlo.broadcast_in_dim %cst_133, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %477 = stablehlo.multiply %476, %255 : tensor<32xf32>
    %478 = stablehlo.multiply %477, %255 : tensor<32xf32>
    %479 = stablehlo.add %475, %478 : tensor<32xf32>
    %cst_134 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %480 = stablehlo.broadcast_in_dim %cst_134, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %481 = stablehlo.multiply %480, %arg36 : tensor<32xf32>
    %cst_135 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %482 = stablehlo.broadcast_in_dim %cst_135, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %483 = stablehlo.multiply %482, %196 : tensor<32xf32>
    %484 = stablehlo.multiply %483, %196 : tensor<32xf32>
    %485 = stablehlo.add %481, %484 : tensor<32xf32>
    %cst_136 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %486 = stablehlo.broadcast_in_dim %cst_136, dims = [] : (tensor<f32>) -> tensor<40x32xf32>
    %487 = stablehlo.multiply %486, %arg37 : tensor<40x32xf32>
    %cst_137 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %488 = stablehlo.broadcast_in_dim %cst_137, dims = [] : (tensor<f32>) -> tensor<40x32xf32>
    %489 = stablehlo.multiply %488, %361 : tensor<40x32xf32>
    %490 = stablehlo.multiply %489, %361 : tensor<40x32xf32>
    %491 = stablehlo.add %487, %490 : tensor<40x32xf32>
    %cst_138 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %492 = stablehlo.broadcast_in_dim %cst_138, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %493 = stablehlo.multiply %492, %arg38 : tensor<128x32xf32>
    %cst_139 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %494 = stablehlo.broadcast_in_dim %cst_139, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %495 = stablehlo.multiply %494, %231 : tensor<128x32xf32>
    %496 = stablehlo.multiply %495, %231 : tensor<128x32xf32>
    %497 = stablehlo.add %493, %496 : tensor<128x32xf32>
    %cst_140 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %498 = stablehlo.broadcast_in_dim %cst_140, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %499 = stablehlo.multiply %498, %arg39 : tensor<32x32xf32>
    %cst_141 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %500 = stablehlo.broadcast_in_dim %cst_141, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %501 = stablehlo.multiply %500, %288 : tensor<32x32xf32>
    %502 = stablehlo.multiply %501, %288 : tensor<32x32xf32>
    %503 = stablehlo.add %499, %502 : tensor<32x32xf32>
    %cst_142 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %504 = stablehlo.broadcast_in_dim %cst_142, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %505 = stablehlo.multiply %504, %arg40 : tensor<32x96xf32>
    %cst_143 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %506 = stablehlo.broadcast_in_dim %cst_143, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %507 = stablehlo.multiply %506, %320 : tensor<32x96xf32>
    %508 = stablehlo.multiply %507, %320 : tensor<32x96xf32>
    %509 = stablehlo.add %505, %508 : tensor<32x96xf32>
    %cst_144 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %510 = stablehlo.broadcast_in_dim %cst_144, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %511 = stablehlo.multiply %510, %arg41 : tensor<32x128xf32>
    %cst_145 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %512 = stablehlo.broadcast_in_dim %cst_145, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %513 = stablehlo.multiply %512, %251 : tensor<32x128xf32>
    %514 = stablehlo.multiply %513, %251 : tensor<32x128xf32>
    %515 = stablehlo.add %511, %514 : tensor<32x128xf32>
    %cst_146 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %516 = stablehlo.power %cst_146, %arg42 : tensor<f32>
    %cst_147 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %517 = stablehlo.subtract %cst_147, %516 : tensor<f32>
    %518 = stablehlo.sqrt %517 : tensor<f32>
    %cst_148 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %519 = stablehlo.multiply %cst_148, %518 : tensor<f32>
    %cst_149 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %520 = stablehlo.power %cst_149, %arg42 : tensor<f32>
    %cst_150 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %521 = stablehlo.subtract %cst_150, %520 : tensor<f32>
    %522 = stablehlo.divide %519, %521 : tensor<f32>
    %523 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %524 = stablehlo.multiply %523, %366 : tensor<32xf32>
    %525 = stablehlo.sqrt %437 : tensor<32xf32>
    %cst_151 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %526 = stablehlo.broadcast_in_dim %cst_151, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %527 = stablehlo.add %525, %526 : tensor<32xf32>
    %528 = stablehlo.divide %524, %527 : tensor<32xf32>
    %529 = stablehlo.subtract %arg0, %528 : tensor<32xf32>
    %530 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %531 = stablehlo.multiply %530, %371 : tensor<128xf32>
    %532 = stablehlo.sqrt %443 : tensor<128xf32>
    %cst_152 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %533 = stablehlo.broadcast_in_dim %cst_152, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %534 = stablehlo.add %532, %533 : tensor<128xf32>
    %535 = stablehlo.divide %531, %534 : tensor<128xf32>
    %536 = stablehlo.subtract %arg1, %535 : tensor<128xf32>
    %537 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %538 = stablehlo.multiply %537, %376 : tensor<32xf32>
    %539 = stablehlo.sqrt %449 : tensor<32xf32>
    %cst_153 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %540 = stablehlo.broadcast_in_dim %cst_153, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %541 = stablehlo.add %539, %540 : tensor<32xf32>
    %542 = stablehlo.divide %538, %541 : tensor<32xf32>
    %543 = stablehlo.subtract %arg2, %542 : tensor<32xf32>
    %544 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %545 = stablehlo.multiply %544, %381 : tensor<32xf32>
    %546 = stablehlo.sqrt %455 : tensor<32xf32>
    %cst_154 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %547 = stablehlo.broadcast_in_dim %cst_154, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %548 = stablehlo.add %546, %547 : tensor<32xf32>
    %549 = stablehlo.divide %545, %548 : tensor<32xf32>
    %550 = stablehlo.subtract %arg3, %549 : tensor<32xf32>
    %551 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %552 = stablehlo.multiply %551, %386 : tensor<32xf32>
    %553 = stablehlo.sqrt %461 : tensor<32xf32>
    %cst_155 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %554 = stablehlo.broadcast_in_dim %cst_155, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %555 = stablehlo.add %553, %554 : tensor<32xf32>
    %556 = stablehlo.divide %552, %555 : tensor<32xf32>
    %557 = stablehlo.subtract %arg4, %556 : tensor<32xf32>
    %558 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %559 = stablehlo.multiply %558, %391 : tensor<16x32xf32>
    %560 = stablehlo.sqrt %467 : tensor<16x32xf32>
    %cst_156 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %561 = stablehlo.broadcast_in_dim %cst_156, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %562 = stablehlo.add %560, %561 : tensor<16x32xf32>
    %563 = stablehlo.divide %559, %562 : tensor<16x32xf32>
    %564 = stablehlo.subtract %arg5, %563 : tensor<16x32xf32>
    %565 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %566 = stablehlo.multiply %565, %396 : tensor<32xf32>
    %567 = stablehlo.sqrt %473 : tensor<32xf32>
    %cst_157 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %568 = stablehlo.broadcast_in_dim %cst_157, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %569 = stablehlo.add %567, %568 : tensor<32xf32>
    %570 = stablehlo.divide %566, %569 : tensor<32xf32>
    %571 = stablehlo.subtract %arg6, %570 : tensor<32xf32>
    %572 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %573 = stablehlo.multiply %572, %401 : tensor<32xf32>
    %574 = stablehlo.sqrt %479 : tensor<32xf32>
    %cst_158 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %575 = stablehlo.broadcast_in_dim %cst_158, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %576 = stablehlo.add %574, %575 : tensor<32xf32>
    %577 = stablehlo.divide %573, %576 : tensor<32xf32>
    %578 = stablehlo.subtract %arg7, %577 : tensor<32xf32>
    %579 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %580 = stablehlo.multiply %579, %406 : tensor<32xf32>
    %581 = stablehlo.sqrt %485 : tensor<32xf32>
    %cst_159 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %582 = stablehlo.broadcast_in_dim %cst_159, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %583 = stablehlo.add %581, %582 : tensor<32xf32>
    %584 = stablehlo.divide %580, %583 : tensor<32xf32>
    %585 = stablehlo.subtract %arg8, %584 : tensor<32xf32>
    %586 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<40x32xf32>
    %587 = stablehlo.multiply %586, %411 : tensor<40x32xf32>
    %588 = stablehlo.sqrt %491 : tensor<40x32xf32>
    %cst_160 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %589 = stablehlo.broadcast_in_dim %cst_160, dims = [] : (tensor<f32>) -> tensor<40x32xf32>
    %590 = stablehlo.add %588, %589 : tensor<40x32xf32>
    %591 = stablehlo.divide %587, %590 : tensor<40x32xf32>
    %592 = stablehlo.subtract %arg9, %591 : tensor<40x32xf32>
    %593 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %594 = stablehlo.multiply %593, %416 : tensor<128x32xf32>
    %595 = stablehlo.sqrt %497 : tensor<128x32xf32>
    %cst_161 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %596 = stablehlo.broadcast_in_dim %cst_161, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %597 = stablehlo.add %595, %596 : tensor<128x32xf32>
    %598 = stablehlo.divide %594, %597 : tensor<128x32xf32>
    %599 = stablehlo.subtract %arg10, %598 : tensor<128x32xf32>
    %600 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %601 = stablehlo.multiply %600, %421 : tensor<32x32xf32>
    %602 = stablehlo.sqrt %503 : tensor<32x32xf32>
    %cst_162 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %603 = stablehlo.broadcast_in_dim %cst_162, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %604 = stablehlo.add %602, %603 : tensor<32x32xf32>
    %605 = stablehlo.divide %601, %604 : tensor<32x32xf32>
    %606 = stablehlo.subtract %arg11, %605 : tensor<32x32xf32>
    %607 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %608 = stablehlo.multiply %607, %426 : tensor<32x96xf32>
    %609 = stablehlo.sqrt %509 : tensor<32x96xf32>
    %cst_163 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %610 = stablehlo.broadcast_in_dim %cst_163, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %611 = stablehlo.add %609, %610 : tensor<32x96xf32>
    %612 = stablehlo.divide %608, %611 : tensor<32x96xf32>
    %613 = stablehlo.subtract %arg12, %612 : tensor<32x96xf32>
    %614 = stablehlo.broadcast_in_dim %522, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %615 = stablehlo.multiply %614, %431 : tensor<32x128xf32>
    %616 = stablehlo.sqrt %515 : tensor<32x128xf32>
    %cst_164 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %617 = stablehlo.broadcast_in_dim %cst_164, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %618 = stablehlo.add %616, %617 : tensor<32x128xf32>
    %619 = stablehlo.divide %615, %618 : tensor<32x128xf32>
    %620 = stablehlo.subtract %arg13, %619 : tensor<32x128xf32>
    return %529, %536, %543, %550, %557, %564, %571, %578, %585, %592, %599, %606, %613, %620, %366, %371, %376, %381, %386, %391, %396, %401, %406, %411, %416, %421, %426, %431, %437, %443, %449, %455, %461, %467, %473, %479, %485, %491, %497, %503, %509, %515, %183 : tensor<32xf32>, tensor<128xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<40x32xf32>, tensor<128x32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32x128xf32>, tensor<32xf32>, tensor<128xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<40x32xf32>, tensor<128x32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32x128xf32>, tensor<32xf32>, tensor<128xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<40x32xf32>, tensor<128x32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32x128xf32>, tensor<f32>
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
  func.func private @_where(%arg0: tensor<16x16xi1>, %arg1: tensor<2x2x16x16xf32>, %arg2: tensor<f32>) -> (tensor<2x2x16x16xf32>, tensor<2x2x16x16xi1>, tensor<2x2x16x16xf32>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<16x16xi1>) -> tensor<2x2x16x16xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x2x16x16xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x2x16x16xi1>, tensor<2x2x16x16xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x16x16xf32>
    return %3, %1, %4 : tensor<2x2x16x16xf32>, tensor<2x2x16x16xi1>, tensor<2x2x16x16xf32>
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
  func.func private @_where_2(%arg0: tensor<2x2x16x16xi1>, %arg1: tensor<2x2x16x16xf32>, %arg2: tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x16x16xf32>
    %1 = stablehlo.select %arg0, %arg2, %0 : tensor<2x2x16x16xi1>, tensor<2x2x16x16xf32>
    return %1 : tensor<2x2x16x16xf32>
  }
}
