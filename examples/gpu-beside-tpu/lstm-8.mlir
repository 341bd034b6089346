module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1024x4096xbf16>, %arg1: tensor<1024x4096xbf16>, %arg2: tensor<4096xbf16>, %arg3: tensor<16x8x1024xbf16>, %arg4: tensor<16x8x1024xbf16>) -> (tensor<16x8x1024xbf16> {jax.result_info = "result[0]"}, tensor<1024x4096xbf16> {jax.result_info = "result[1][0][0]"}, tensor<1024x4096xbf16> {jax.result_info = "result[1][0][1]"}, tensor<4096xbf16> {jax.result_info = "result[1][0][2]"}, tensor<16x8x1024xbf16> {jax.result_info = "result[1][1]"}) {
    %0 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<16x8x4096xbf16>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<4096xbf16>) -> tensor<1x1x4096xbf16>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x1x4096xbf16>) -> tensor<16x8x4096xbf16>
    %3 = stablehlo.add %0, %2 : tensor<16x8x4096xbf16>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %8 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %9 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %10 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %11 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %12 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %13 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %14 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %15 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %16 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %17 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<bf16>) -> tensor<16x8x1024xbf16>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %18:18 = stablehlo.while(%iterArg = %3, %iterArg_20 = %arg1, %iterArg_21 = %c, %iterArg_22 = %4, %iterArg_23 = %4, %iterArg_24 = %5, %iterArg_25 = %6, %iterArg_26 = %7, %iterArg_27 = %8, %iterArg_28 = %9, %iterArg_29 = %10, %iterArg_30 = %11, %iterArg_31 = %12, %iterArg_32 = %13, %iterArg_33 = %14, %iterArg_34 = %15, %iterArg_35 = %16, %iterArg_36 = %17) : tensor<16x8x4096xbf16>, tensor<1024x4096xbf16>, tensor<i32>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>
    cond {
      %c_37 = stablehlo.constant dense<16> : tensor<i32>
      %30 = stablehlo.compare LT, %iterArg_21, %c_37, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %30 : tensor<i1>
    } do {
      %30 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_21) : (tensor<16x8x4096xbf16>, tensor<i32>) -> tensor<8x4096xbf16>
      %31:15 = func.call @closed_call(%iterArg_20, %iterArg_22, %iterArg_23, %30) : (tensor<1024x4096xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x4096xbf16>) -> (tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>)
      %32 = func.call @dynamic_update_index_in_dim(%iterArg_24, %31#2, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %33 = func.call @dynamic_update_index_in_dim(%iterArg_25, %31#3, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %34 = func.call @dynamic_update_index_in_dim(%iterArg_26, %31#4, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %35 = func.call @dynamic_update_index_in_dim(%iterArg_27, %31#5, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %36 = func.call @dynamic_update_index_in_dim(%iterArg_28, %31#6, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %37 = func.call @dynamic_update_index_in_dim(%iterArg_29, %31#7, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %38 = func.call @dynamic_update_index_in_dim(%iterArg_30, %31#8, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %39 = func.call @dynamic_update_index_in_dim(%iterArg_31, %31#9, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %40 = func.call @dynamic_update_index_in_dim(%iterArg_32, %31#10, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %41 = func.call @dynamic_update_index_in_dim(%iterArg_33, %31#11, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %42 = func.call @dynamic_update_index_in_dim(%iterArg_34, %31#12, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %43 = func.call @dynamic_update_index_in_dim(%iterArg_35, %31#13, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %44 = func.call @dynamic_update_index_in_dim(%iterArg_36, %31#14, %iterArg_21) : (tensor<16x8x1024xbf16>, tensor<8x1024xbf16>, tensor<i32>) -> tensor<16x8x1024xbf16>
      %c_37 = stablehlo.constant dense<1> : tensor<i32>
      %45 = stablehlo.add %iterArg_21, %c_37 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_20, %45, %31#0, %31#1, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44 : tensor<16x8x4096xbf16>, tensor<1024x4096xbf16>, tensor<i32>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>
    }
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %19 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %20 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %21 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<bf16>) -> tensor<1024x4096xbf16>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %22 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<bf16>) -> tensor<16x8x4096xbf16>
    %c_17 = stablehlo.constant dense<0> : tensor<i32>
    %23:19 = stablehlo.while(%iterArg = %arg4, %iterArg_20 = %18#6, %iterArg_21 = %18#7, %iterArg_22 = %18#8, %iterArg_23 = %18#9, %iterArg_24 = %18#10, %iterArg_25 = %18#11, %iterArg_26 = %18#12, %iterArg_27 = %18#13, %iterArg_28 = %18#14, %iterArg_29 = %18#15, %iterArg_30 = %18#16, %iterArg_31 = %18#17, %iterArg_32 = %arg1, %iterArg_33 = %c_17, %iterArg_34 = %21, %iterArg_35 = %19, %iterArg_36 = %20, %iterArg_37 = %22) : tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<1024x4096xbf16>, tensor<i32>, tensor<1024x4096xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<16x8x4096xbf16>
    cond {
      %c_38 = stablehlo.constant dense<16> : tensor<i32>
      %30 = stablehlo.compare LT, %iterArg_33, %c_38, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %30 : tensor<i1>
    } do {
      %c_38 = stablehlo.constant dense<16> : tensor<i32>
      %30 = stablehlo.subtract %c_38, %iterArg_33 : tensor<i32>
      %c_39 = stablehlo.constant dense<1> : tensor<i32>
      %31 = stablehlo.subtract %30, %c_39 : tensor<i32>
      %32 = func.call @dynamic_index_in_dim_0(%iterArg, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %33 = func.call @dynamic_index_in_dim_0(%iterArg_20, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %34 = func.call @dynamic_index_in_dim_0(%iterArg_21, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %35 = func.call @dynamic_index_in_dim_0(%iterArg_22, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %36 = func.call @dynamic_index_in_dim_0(%iterArg_23, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %37 = func.call @dynamic_index_in_dim_0(%iterArg_24, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %38 = func.call @dynamic_index_in_dim_0(%iterArg_25, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %39 = func.call @dynamic_index_in_dim_0(%iterArg_26, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %40 = func.call @dynamic_index_in_dim_0(%iterArg_27, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %41 = func.call @dynamic_index_in_dim_0(%iterArg_28, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %42 = func.call @dynamic_index_in_dim_0(%iterArg_29, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %43 = func.call @dynamic_index_in_dim_0(%iterArg_30, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %44 = func.call @dynamic_index_in_dim_0(%iterArg_31, %31) : (tensor<16x8x1024xbf16>, tensor<i32>) -> tensor<8x1024xbf16>
      %45:4 = func.call @closed_call_1(%iterArg_32, %iterArg_34, %iterArg_35, %iterArg_36, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44) : (tensor<1024x4096xbf16>, tensor<1024x4096xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>) -> (tensor<1024x4096xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x4096xbf16>)
      %46 = func.call @dynamic_update_index_in_dim_2(%iterArg_37, %45#3, %31) : (tensor<16x8x4096xbf16>, tensor<8x4096xbf16>, tensor<i32>) -> tensor<16x8x4096xbf16>
      %c_40 = stablehlo.constant dense<1> : tensor<i32>
      %47 = stablehlo.add %iterArg_33, %c_40 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_20, %iterArg_21, %iterArg_22, %iterArg_23, %iterArg_24, %iterArg_25, %iterArg_26, %iterArg_27, %iterArg_28, %iterArg_29, %iterArg_30, %iterArg_31, %iterArg_32, %47, %45#0, %45#1, %45#2, %46 : tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<16x8x1024xbf16>, tensor<1024x4096xbf16>, tensor<i32>, tensor<1024x4096xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<16x8x4096xbf16>
    }
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %24 = stablehlo.reduce(%23#18 init: %cst_18) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8x4096xbf16>, tensor<bf16>) -> tensor<4096xbf16>
    %25 = stablehlo.reshape %24 : (tensor<4096xbf16>) -> tensor<1x1x4096xbf16>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %26 = stablehlo.reduce(%25 init: %cst_19) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x4096xbf16>, tensor<bf16>) -> tensor<4096xbf16>
    %27 = stablehlo.dot_general %23#18, %arg3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x4096xbf16>, tensor<16x8x1024xbf16>) -> tensor<4096x1024xbf16>
    %28 = stablehlo.transpose %27, dims = [1, 0] : (tensor<4096x1024xbf16>) -> tensor<1024x4096xbf16>
    %29 = stablehlo.dot_general %23#18, %arg0, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<16x8x1024xbf16>
    return %18#5, %28, %23#15, %26, %29 : tensor<16x8x1024xbf16>, tensor<1024x4096xbf16>, tensor<1024x4096xbf16>, tensor<4096xbf16>, tensor<16x8x1024xbf16>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<16x8x4096xbf16>, %arg1: tensor<i32>) -> tensor<8x4096xbf16> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 8, 4096] : (tensor<16x8x4096xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x4096xbf16>
    %1 = stablehlo.reshape %0 : (tensor<1x8x4096xbf16>) -> tensor<8x4096xbf16>
    return %1 : tensor<8x4096xbf16>
  }
  func.func private @closed_call(%arg0: tensor<1024x4096xbf16>, %arg1: tensor<8x1024xbf16>, %arg2: tensor<8x1024xbf16>, %arg3: tensor<8x4096xbf16>) -> (tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>) {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<8x4096xbf16>
    %1 = stablehlo.add %arg3, %0 : tensor<8x4096xbf16>
    %2 = stablehlo.slice %1 [0:8, 0:1024] : (tensor<8x4096xbf16>) -> tensor<8x1024xbf16>
    %3 = stablehlo.slice %1 [0:8, 1024:2048] : (tensor<8x4096xbf16>) -> tensor<8x1024xbf16>
    %4 = stablehlo.slice %1 [0:8, 2048:3072] : (tensor<8x4096xbf16>) -> tensor<8x1024xbf16>
    %5 = stablehlo.slice %1 [0:8, 3072:4096] : (tensor<8x4096xbf16>) -> tensor<8x1024xbf16>
    %6 = stablehlo.negate %3 : tensor<8x1024xbf16>
    %7 = stablehlo.exponential %6 : tensor<8x1024xbf16>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %9 = stablehlo.add %8, %7 : tensor<8x1024xbf16>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %10 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %11 = stablehlo.divide %10, %9 : tensor<8x1024xbf16>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %13 = stablehlo.subtract %12, %11 : tensor<8x1024xbf16>
    %14 = stablehlo.multiply %11, %13 : tensor<8x1024xbf16>
    %15 = stablehlo.multiply %11, %arg2 : tensor<8x1024xbf16>
    %16 = stablehlo.negate %2 : tensor<8x1024xbf16>
    %17 = stablehlo.exponential %16 : tensor<8x1024xbf16>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %18 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %19 = stablehlo.add %18, %17 : tensor<8x1024xbf16>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %20 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %21 = stablehlo.divide %20, %19 : tensor<8x1024xbf16>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %22 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %23 = stablehlo.subtract %22, %21 : tensor<8x1024xbf16>
    %24 = stablehlo.multiply %21, %23 : tensor<8x1024xbf16>
    %25 = stablehlo.tanh %4 : tensor<8x1024xbf16>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %26 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %27 = stablehlo.subtract %26, %25 : tensor<8x1024xbf16>
    %28 = stablehlo.multiply %21, %25 : tensor<8x1024xbf16>
    %29 = stablehlo.add %15, %28 : tensor<8x1024xbf16>
    %30 = stablehlo.negate %5 : tensor<8x1024xbf16>
    %31 = stablehlo.exponential %30 : tensor<8x1024xbf16>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %32 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %33 = stablehlo.add %32, %31 : tensor<8x1024xbf16>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %34 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %35 = stablehlo.divide %34, %33 : tensor<8x1024xbf16>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %36 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %37 = stablehlo.subtract %36, %35 : tensor<8x1024xbf16>
    %38 = stablehlo.multiply %35, %37 : tensor<8x1024xbf16>
    %39 = stablehlo.tanh %29 : tensor<8x1024xbf16>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %40 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<bf16>) -> tensor<8x1024xbf16>
    %41 = stablehlo.subtract %40, %39 : tensor<8x1024xbf16>
    %42 = stablehlo.multiply %35, %39 : tensor<8x1024xbf16>
    return %42, %29, %42, %arg1, %14, %arg2, %11, %24, %25, %27, %21, %38, %39, %41, %35 : tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<16x8x1024xbf16>, %arg1: tensor<8x1024xbf16>, %arg2: tensor<i32>) -> tensor<16x8x1024xbf16> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<8x1024xbf16>) -> tensor<1x8x1024xbf16>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<16x8x1024xbf16>, tensor<1x8x1024xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<16x8x1024xbf16>
    return %1 : tensor<16x8x1024xbf16>
  }
  func.func private @dynamic_index_in_dim_0(%arg0: tensor<16x8x1024xbf16>, %arg1: tensor<i32>) -> tensor<8x1024xbf16> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 8, 1024] : (tensor<16x8x1024xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x1024xbf16>
    %1 = stablehlo.reshape %0 : (tensor<1x8x1024xbf16>) -> tensor<8x1024xbf16>
    return %1 : tensor<8x1024xbf16>
  }
  func.func private @closed_call_1(%arg0: tensor<1024x4096xbf16>, %arg1: tensor<1024x4096xbf16>, %arg2: tensor<8x1024xbf16>, %arg3: tensor<8x1024xbf16>, %arg4: tensor<8x1024xbf16>, %arg5: tensor<8x1024xbf16>, %arg6: tensor<8x1024xbf16>, %arg7: tensor<8x1024xbf16>, %arg8: tensor<8x1024xbf16>, %arg9: tensor<8x1024xbf16>, %arg10: tensor<8x1024xbf16>, %arg11: tensor<8x1024xbf16>, %arg12: tensor<8x1024xbf16>, %arg13: tensor<8x1024xbf16>, %arg14: tensor<8x1024xbf16>, %arg15: tensor<8x1024xbf16>, %arg16: tensor<8x1024xbf16>) -> (tensor<1024x4096xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x4096xbf16>) {
    %0 = stablehlo.add %arg2, %arg4 : tensor<8x1024xbf16>
    %1 = stablehlo.multiply %arg16, %0 : tensor<8x1024xbf16>
    %2 = stablehlo.multiply %0, %arg14 : tensor<8x1024xbf16>
    %3 = stablehlo.multiply %1, %arg15 : tensor<8x1024xbf16>
    %4 = stablehlo.add %arg3, %3 : tensor<8x1024xbf16>
    %5 = stablehlo.multiply %3, %arg14 : tensor<8x1024xbf16>
    %6 = stablehlo.add %4, %5 : tensor<8x1024xbf16>
    %7 = stablehlo.multiply %2, %arg13 : tensor<8x1024xbf16>
    %8 = stablehlo.multiply %arg12, %6 : tensor<8x1024xbf16>
    %9 = stablehlo.multiply %6, %arg10 : tensor<8x1024xbf16>
    %10 = stablehlo.multiply %8, %arg11 : tensor<8x1024xbf16>
    %11 = stablehlo.multiply %10, %arg10 : tensor<8x1024xbf16>
    %12 = stablehlo.add %10, %11 : tensor<8x1024xbf16>
    %13 = stablehlo.multiply %9, %arg9 : tensor<8x1024xbf16>
    %14 = stablehlo.multiply %arg8, %6 : tensor<8x1024xbf16>
    %15 = stablehlo.multiply %6, %arg7 : tensor<8x1024xbf16>
    %16 = stablehlo.multiply %15, %arg6 : tensor<8x1024xbf16>
    %17 = stablehlo.concatenate %13, %16, %12, %7, dim = 1 : (tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>) -> tensor<8x4096xbf16>
    %18 = stablehlo.dot_general %17, %arg5, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4096xbf16>, tensor<8x1024xbf16>) -> tensor<4096x1024xbf16>
    %19 = stablehlo.transpose %18, dims = [1, 0] : (tensor<4096x1024xbf16>) -> tensor<1024x4096xbf16>
    %20 = stablehlo.add %arg1, %19 : tensor<1024x4096xbf16>
    %21 = stablehlo.dot_general %17, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<8x1024xbf16>
    return %20, %21, %14, %17 : tensor<1024x4096xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>, tensor<8x4096xbf16>
  }
  func.func private @dynamic_update_index_in_dim_2(%arg0: tensor<16x8x4096xbf16>, %arg1: tensor<8x4096xbf16>, %arg2: tensor<i32>) -> tensor<16x8x4096xbf16> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<8x4096xbf16>) -> tensor<1x8x4096xbf16>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<16x8x4096xbf16>, tensor<1x8x4096xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<16x8x4096xbf16>
    return %1 : tensor<16x8x4096xbf16>
  }
}
