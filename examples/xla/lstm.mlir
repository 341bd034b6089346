module @jit_lstm_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<12x64xf32>, %arg1: tensor<16x64xf32>, %arg2: tensor<64xf32>, %arg3: tensor<16x8xf32>, %arg4: tensor<6x8x12xf32>, %arg5: tensor<6x8x8xf32>) -> (tensor<12x64xf32> {jax.result_info = "result[0][0]"}, tensor<16x64xf32> {jax.result_info = "result[0][1]"}, tensor<64xf32> {jax.result_info = "result[0][2]"}, tensor<16x8xf32> {jax.result_info = "result[0][3]"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<6x8x16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %15:20 = stablehlo.while(%iterArg = %arg4, %iterArg_30 = %arg0, %iterArg_31 = %arg1, %iterArg_32 = %1, %iterArg_33 = %c, %iterArg_34 = %0, %iterArg_35 = %0, %iterArg_36 = %2, %iterArg_37 = %3, %iterArg_38 = %4, %iterArg_39 = %5, %iterArg_40 = %6, %iterArg_41 = %7, %iterArg_42 = %8, %iterArg_43 = %9, %iterArg_44 = %10, %iterArg_45 = %11, %iterArg_46 = %12, %iterArg_47 = %13, %iterArg_48 = %14) : tensor<6x8x12xf32>, tensor<12x64xf32>, tensor<16x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>
    cond {
      %c_49 = stablehlo.constant dense<6> : tensor<i32>
      %49 = stablehlo.compare LT, %iterArg_33, %c_49, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %49 : tensor<i1>
    } do {
      %49 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_33) : (tensor<6x8x12xf32>, tensor<i32>) -> tensor<8x12xf32>
      %50:15 = func.call @closed_call(%iterArg_30, %iterArg_31, %iterArg_32, %iterArg_34, %iterArg_35, %49) : (tensor<12x64xf32>, tensor<16x64xf32>, tensor<1x64xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x12xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
      %51 = func.call @dynamic_update_index_in_dim(%iterArg_36, %50#2, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %52 = func.call @dynamic_update_index_in_dim(%iterArg_37, %50#3, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %53 = func.call @dynamic_update_index_in_dim(%iterArg_38, %50#4, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %54 = func.call @dynamic_update_index_in_dim(%iterArg_39, %50#5, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %55 = func.call @dynamic_update_index_in_dim(%iterArg_40, %50#6, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %56 = func.call @dynamic_update_index_in_dim(%iterArg_41, %50#7, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %57 = func.call @dynamic_update_index_in_dim(%iterArg_42, %50#8, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %58 = func.call @dynamic_update_index_in_dim(%iterArg_43, %50#9, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %59 = func.call @dynamic_update_index_in_dim(%iterArg_44, %50#10, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %60 = func.call @dynamic_update_index_in_dim(%iterArg_45, %50#11, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %61 = func.call @dynamic_update_index_in_dim(%iterArg_46, %50#12, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %62 = func.call @dynamic_update_index_in_dim(%iterArg_47, %50#13, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %63 = func.call @dynamic_update_index_in_dim(%iterArg_48, %50#14, %iterArg_33) : (tensor<6x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<6x8x16xf32>
      %c_49 = stablehlo.constant dense<1> : tensor<i32>
      %64 = stablehlo.add %iterArg_33, %c_49 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_30, %iterArg_31, %iterArg_32, %64, %50#0, %50#1, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63 : tensor<6x8x12xf32>, tensor<12x64xf32>, tensor<16x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>
    }
    %16 = stablehlo.dot_general %15#7, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<6x8x16xf32>, tensor<16x8xf32>) -> tensor<6x8x8xf32>
    %17 = stablehlo.subtract %16, %arg5 : tensor<6x8x8xf32>
    %18 = stablehlo.multiply %17, %17 : tensor<6x8x8xf32>
    %cst_13 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<6x8x8xf32>
    %20 = stablehlo.multiply %19, %17 : tensor<6x8x8xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%18 init: %cst_14) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<6x8x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_15 = stablehlo.constant dense<3.840000e+02> : tensor<f32>
    %22 = stablehlo.divide %21, %cst_15 : tensor<f32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %cst_18 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_19 = stablehlo.constant dense<3.840000e+02> : tensor<f32>
    %25 = stablehlo.divide %cst_18, %cst_19 : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<f32>) -> tensor<6x8x8xf32>
    %27 = stablehlo.multiply %26, %20 : tensor<6x8x8xf32>
    %28 = stablehlo.dot_general %27, %15#7, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<6x8x8xf32>, tensor<6x8x16xf32>) -> tensor<8x16xf32>
    %29 = stablehlo.transpose %28, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %30 = stablehlo.dot_general %27, %arg3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<6x8x8xf32>, tensor<16x8xf32>) -> tensor<6x8x16xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %cst_22 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<12x64xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %cst_24 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %c_25 = stablehlo.constant dense<0> : tensor<i32>
    %36:21 = stablehlo.while(%iterArg = %30, %iterArg_30 = %arg4, %iterArg_31 = %15#8, %iterArg_32 = %15#9, %iterArg_33 = %15#10, %iterArg_34 = %15#11, %iterArg_35 = %15#12, %iterArg_36 = %15#13, %iterArg_37 = %15#14, %iterArg_38 = %15#15, %iterArg_39 = %15#16, %iterArg_40 = %15#17, %iterArg_41 = %15#18, %iterArg_42 = %15#19, %iterArg_43 = %arg1, %iterArg_44 = %c_25, %iterArg_45 = %33, %iterArg_46 = %34, %iterArg_47 = %35, %iterArg_48 = %31, %iterArg_49 = %32) : tensor<6x8x16xf32>, tensor<6x8x12xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<16x64xf32>, tensor<i32>, tensor<12x64xf32>, tensor<16x64xf32>, tensor<64xf32>, tensor<8x16xf32>, tensor<8x16xf32>
    cond {
      %c_50 = stablehlo.constant dense<6> : tensor<i32>
      %49 = stablehlo.compare LT, %iterArg_44, %c_50, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %49 : tensor<i1>
    } do {
      %c_50 = stablehlo.constant dense<6> : tensor<i32>
      %49 = stablehlo.subtract %c_50, %iterArg_44 : tensor<i32>
      %c_51 = stablehlo.constant dense<1> : tensor<i32>
      %50 = stablehlo.subtract %49, %c_51 : tensor<i32>
      %51 = func.call @dynamic_index_in_dim_0(%iterArg, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %52 = func.call @dynamic_index_in_dim(%iterArg_30, %50) : (tensor<6x8x12xf32>, tensor<i32>) -> tensor<8x12xf32>
      %53 = func.call @dynamic_index_in_dim_0(%iterArg_31, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %54 = func.call @dynamic_index_in_dim_0(%iterArg_32, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %55 = func.call @dynamic_index_in_dim_0(%iterArg_33, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %56 = func.call @dynamic_index_in_dim_0(%iterArg_34, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %57 = func.call @dynamic_index_in_dim_0(%iterArg_35, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %58 = func.call @dynamic_index_in_dim_0(%iterArg_36, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %59 = func.call @dynamic_index_in_dim_0(%iterArg_37, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %60 = func.call @dynamic_index_in_dim_0(%iterArg_38, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %61 = func.call @dynamic_index_in_dim_0(%iterArg_39, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %62 = func.call @dynamic_index_in_dim_0(%iterArg_40, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %63 = func.call @dynamic_index_in_dim_0(%iterArg_41, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %64 = func.call @dynamic_index_in_dim_0(%iterArg_42, %50) : (tensor<6x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %65:5 = func.call @closed_call_1(%iterArg_43, %iterArg_45, %iterArg_46, %iterArg_47, %iterArg_48, %iterArg_49, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64) : (tensor<16x64xf32>, tensor<12x64xf32>, tensor<16x64xf32>, tensor<64xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x12xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<12x64xf32>, tensor<16x64xf32>, tensor<64xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
      %c_52 = stablehlo.constant dense<1> : tensor<i32>
      %66 = stablehlo.add %iterArg_44, %c_52 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_30, %iterArg_31, %iterArg_32, %iterArg_33, %iterArg_34, %iterArg_35, %iterArg_36, %iterArg_37, %iterArg_38, %iterArg_39, %iterArg_40, %iterArg_41, %iterArg_42, %iterArg_43, %66, %65#0, %65#1, %65#2, %65#3, %65#4 : tensor<6x8x16xf32>, tensor<6x8x12xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<16x64xf32>, tensor<i32>, tensor<12x64xf32>, tensor<16x64xf32>, tensor<64xf32>, tensor<8x16xf32>, tensor<8x16xf32>
    }
    %cst_26 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<12x64xf32>
    %38 = stablehlo.multiply %37, %36#16 : tensor<12x64xf32>
    %39 = stablehlo.subtract %arg0, %38 : tensor<12x64xf32>
    %cst_27 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %41 = stablehlo.multiply %40, %36#17 : tensor<16x64xf32>
    %42 = stablehlo.subtract %arg1, %41 : tensor<16x64xf32>
    %cst_28 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %44 = stablehlo.multiply %43, %36#18 : tensor<64xf32>
    %45 = stablehlo.subtract %arg2, %44 : tensor<64xf32>
    %cst_29 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %47 = stablehlo.multiply %46, %29 : tensor<16x8xf32>
    %48 = stablehlo.subtract %arg3, %47 : tensor<16x8xf32>
    return %39, %42, %45, %48, %22 : tensor<12x64xf32>, tensor<16x64xf32>, tensor<64xf32>, tensor<16x8xf32>, tensor<f32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<6x8x12xf32>, %arg1: tensor<i32>) -> tensor<8x12xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 8, 12] : (tensor<6x8x12xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x12xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x8x12xf32>) -> tensor<8x12xf32>
    return %1 : tensor<8x12xf32>
  }
  func.func private @closed_call(%arg0: tensor<12x64xf32>, %arg1: tensor<16x64xf32>, %arg2: tensor<1x64xf32>, %arg3: tensor<8x16xf32>, %arg4: tensor<8x16xf32>, %arg5: tensor<8x12xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
    %0 = stablehlo.dot_general %arg5, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x12xf32>, tensor<12x64xf32>) -> tensor<8x64xf32>
    %1 = stablehlo.dot_general %arg3, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x64xf32>
    %3 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<8x64xf32>
    %4 = stablehlo.add %2, %3 : tensor<8x64xf32>
    %5 = stablehlo.slice %4 [0:8, 0:16] : (tensor<8x64xf32>) -> tensor<8x16xf32>
    %6 = stablehlo.slice %4 [0:8, 16:32] : (tensor<8x64xf32>) -> tensor<8x16xf32>
    %7 = stablehlo.slice %4 [0:8, 32:48] : (tensor<8x64xf32>) -> tensor<8x16xf32>
    %8 = stablehlo.slice %4 [0:8, 48:64] : (tensor<8x64xf32>) -> tensor<8x16xf32>
    %9 = stablehlo.negate %6 : tensor<8x16xf32>
    %10 = stablehlo.exponential %9 : tensor<8x16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %12 = stablehlo.add %11, %10 : tensor<8x16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %14 = stablehlo.divide %13, %12 : tensor<8x16xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %16 = stablehlo.subtract %15, %14 : tensor<8x16xf32>
    %17 = stablehlo.multiply %14, %16 : tensor<8x16xf32>
    %18 = stablehlo.multiply %14, %arg4 : tensor<8x16xf32>
    %19 = stablehlo.negate %5 : tensor<8x16xf32>
    %20 = stablehlo.exponential %19 : tensor<8x16xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %22 = stablehlo.add %21, %20 : tensor<8x16xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %24 = stablehlo.divide %23, %22 : tensor<8x16xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %26 = stablehlo.subtract %25, %24 : tensor<8x16xf32>
    %27 = stablehlo.multiply %24, %26 : tensor<8x16xf32>
    %28 = stablehlo.tanh %7 : tensor<8x16xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %30 = stablehlo.subtract %29, %28 : tensor<8x16xf32>
    %31 = stablehlo.multiply %24, %28 : tensor<8x16xf32>
    %32 = stablehlo.add %18, %31 : tensor<8x16xf32>
    %33 = stablehlo.negate %8 : tensor<8x16xf32>
    %34 = stablehlo.exponential %33 : tensor<8x16xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %36 = stablehlo.add %35, %34 : tensor<8x16xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %38 = stablehlo.divide %37, %36 : tensor<8x16xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %40 = stablehlo.subtract %39, %38 : tensor<8x16xf32>
    %41 = stablehlo.multiply %38, %40 : tensor<8x16xf32>
    %42 = stablehlo.tanh %32 : tensor<8x16xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %44 = stablehlo.subtract %43, %42 : tensor<8x16xf32>
    %45 = stablehlo.multiply %38, %42 : tensor<8x16xf32>
    return %45, %32, %45, %arg3, %17, %arg4, %14, %27, %28, %30, %24, %41, %42, %44, %38 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<6x8x16xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<i32>) -> tensor<6x8x16xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<8x16xf32>) -> tensor<1x8x16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<6x8x16xf32>, tensor<1x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x8x16xf32>
    return %1 : tensor<6x8x16xf32>
  }
  func.func private @dynamic_index_in_dim_0(%arg0: tensor<6x8x16xf32>, %arg1: tensor<i32>) -> tensor<8x16xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 8, 16] : (tensor<6x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }
  func.func private @closed_call_1(%arg0: tensor<16x64xf32>, %arg1: tensor<12x64xf32>, %arg2: tensor<16x64xf32>, %arg3: tensor<64xf32>, %arg4: tensor<8x16xf32>, %arg5: tensor<8x16xf32>, %arg6: tensor<8x16xf32>, %arg7: tensor<8x12xf32>, %arg8: tensor<8x16xf32>, %arg9: tensor<8x16xf32>, %arg10: tensor<8x16xf32>, %arg11: tensor<8x16xf32>, %arg12: tensor<8x16xf32>, %arg13: tensor<8x16xf32>, %arg14: tensor<8x16xf32>, %arg15: tensor<8x16xf32>, %arg16: tensor<8x16xf32>, %arg17: tensor<8x16xf32>, %arg18: tensor<8x16xf32>, %arg19: tensor<8x16xf32>) -> (tensor<12x64xf32>, tensor<16x64xf32>, tensor<64xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
    %0 = stablehlo.add %arg4, %arg6 : tensor<8x16xf32>
    %1 = stablehlo.multiply %arg19, %0 : tensor<8x16xf32>
    %2 = stablehlo.multiply %0, %arg17 : tensor<8x16xf32>
    %3 = stablehlo.multiply %1, %arg18 : tensor<8x16xf32>
    %4 = stablehlo.add %arg5, %3 : tensor<8x16xf32>
    %5 = stablehlo.multiply %3, %arg17 : tensor<8x16xf32>
    %6 = stablehlo.add %4, %5 : tensor<8x16xf32>
    %7 = stablehlo.multiply %2, %arg16 : tensor<8x16xf32>
    %8 = stablehlo.multiply %arg15, %6 : tensor<8x16xf32>
    %9 = stablehlo.multiply %6, %arg13 : tensor<8x16xf32>
    %10 = stablehlo.multiply %8, %arg14 : tensor<8x16xf32>
    %11 = stablehlo.multiply %10, %arg13 : tensor<8x16xf32>
    %12 = stablehlo.add %10, %11 : tensor<8x16xf32>
    %13 = stablehlo.multiply %9, %arg12 : tensor<8x16xf32>
    %14 = stablehlo.multiply %arg11, %6 : tensor<8x16xf32>
    %15 = stablehlo.multiply %6, %arg10 : tensor<8x16xf32>
    %16 = stablehlo.multiply %15, %arg9 : tensor<8x16xf32>
    %17 = stablehlo.concatenate %13, %16, %12, %7, dim = 1 : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8x64xf32>, tensor<f32>) -> tensor<64xf32>
    %19 = stablehlo.reshape %18 : (tensor<64xf32>) -> tensor<1x64xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %21 = stablehlo.add %arg3, %20 : tensor<64xf32>
    %22 = stablehlo.dot_general %17, %arg8, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x64xf32>, tensor<8x16xf32>) -> tensor<64x16xf32>
    %23 = stablehlo.transpose %22, dims = [1, 0] : (tensor<64x16xf32>) -> tensor<16x64xf32>
    %24 = stablehlo.add %arg2, %23 : tensor<16x64xf32>
    %25 = stablehlo.dot_general %17, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
    %26 = stablehlo.dot_general %17, %arg7, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x64xf32>, tensor<8x12xf32>) -> tensor<64x12xf32>
    %27 = stablehlo.transpose %26, dims = [1, 0] : (tensor<64x12xf32>) -> tensor<12x64xf32>
    %28 = stablehlo.add %arg1, %27 : tensor<12x64xf32>
    return %28, %24, %21, %25, %14 : tensor<12x64xf32>, tensor<16x64xf32>, tensor<64xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
}
